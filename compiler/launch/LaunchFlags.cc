#include "compiler/launch/LaunchFlags.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cmath>

namespace splitcast {

/// The column at which help texts begin.
static constexpr size_t kHelpColumn = 34;

static absl::Status invalid(const std::string &message) { return absl::InvalidArgumentError(message); }

void Flags::addParsed(const std::string &name, const std::string &valueName, const std::string &help, bool isRepeatable,
                      std::function<absl::Status(const std::string &)> parse) {
  flags.push_back(
      {name, valueName, help, isRepeatable, /*mayDiffer=*/false, /*mayBeEmpty=*/false, std::move(parse), {}});
}

void Flags::addString(const std::string &name, std::string *value, const std::string &valueName,
                      const std::string &help) {
  addParsed(name, valueName, help, false, [value](const std::string &text) {
    *value = text;
    return absl::OkStatus();
  });
}

void Flags::addChoice(const std::string &name, std::string *value, const std::vector<std::string> &choices,
                      const std::string &help) {
  addParsed(name, absl::StrJoin(choices, "|"), absl::StrCat(help, " (", *value, ")"), false,
            [value, choices](const std::string &text) {
              if (std::find(choices.begin(), choices.end(), text) == choices.end())
                return invalid(absl::StrCat("it must be ", absl::StrJoin(choices, " or ")));
              *value = text;
              return absl::OkStatus();
            });
}

void Flags::addInteger(const std::string &name, int64_t *value, int64_t least, int64_t most, const std::string &help) {
  addParsed(name, "N", absl::StrCat(help, " (", *value, ")"), false, [=](const std::string &text) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < least || number > most)
      return invalid(absl::StrCat("it must be an integer from ", least, " to ", most));
    *value = number;
    return absl::OkStatus();
  });
}

void Flags::addNumber(const std::string &name, double *value, double least, double most, const std::string &help) {
  addParsed(name, "X", absl::StrCat(help, " (", *value, ")"), false, [=](const std::string &text) {
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !(number >= least && number <= most))
      return invalid(absl::StrCat("it must be a number from ", least, " to ", most));
    *value = number;
    return absl::OkStatus();
  });
}

void Flags::addSwitch(const std::string &name, bool *value, const std::string &help) {
  addParsed(name, "", help, false, [value](const std::string &) {
    *value = true;
    return absl::OkStatus();
  });
}

void Flags::addZero(sbp::ZeroOptions *options) {
  std::string help =
      absl::StrCat("how ZeRO splits state among the ranks; without this flag stage=", options->policy.stage(),
                   ", with it these options:");
  for (const sbp::OptionInfo &info : sbp::zeroOptionInfos())
    absl::StrAppend(&help, "\n", std::string(kHelpColumn, ' '), info.name, ": ", info.help);
  addParsed("enable-zero", "OPTION=VALUE,...", help, false, [this, options](const std::string &text) {
    if (text.empty())
      return invalid("it must be OPTION=VALUE,..., such as stage=2");
    const sbp::ZeroOptions before = *options;
    std::optional<std::string> error = sbp::parseEnableZero(text, options);
    for (const sbp::OptionInfo &info : sbp::zeroOptionInfos())
      if (info.flagValue && isGiven(info.name))
        sbp::setZeroOption(info.name, sbp::zeroOptionText(info.name, before), options);
    if (isGiven("recompute")) {
      options->policy.setRecompute(before.policy.recompute());
      options->recomputedGroups = before.recomputedGroups;
    }
    return error ? invalid(*error) : absl::OkStatus();
  });
  for (const sbp::OptionInfo &info : sbp::zeroOptionInfos()) {
    if (!info.flagValue)
      continue;
    const std::string &value = *info.flagValue;
    addParsed(info.name, value,
              absl::StrCat("the same as ", info.name, "=", value.empty() ? "yes" : value,
                           " of --enable-zero, which it overrides and does not need"),
              false, [options, info](const std::string &text) {
                std::optional<std::string> error =
                    sbp::setZeroOption(info.name, info.flagValue->empty() ? "yes" : text, options);
                return error ? invalid("it must be " + info.allowed) : absl::OkStatus();
              });
  }
  addRecompute(options);
}

void Flags::addRecompute(sbp::ZeroOptions *options) {
  addParsed("recompute", "all|none|elementwise|GROUP,...",
            "groups whose forward values are recomputed in backward instead of kept; elementwise: in all groups, only "
            "results of elementwise ops are recomputed, from kept values",
            false, [options](const std::string &text) {
              options->policy.setRecompute(text == "all"           ? sbp::Recompute::Yes
                                           : text == "elementwise" ? sbp::Recompute::Elementwise
                                                                   : sbp::Recompute::No);
              options->recomputedGroups.clear();
              if (text == "all" || text == "none" || text == "elementwise")
                return absl::OkStatus();
              options->recomputedGroups = absl::StrSplit(text, ',');
              const auto &groups = options->recomputedGroups;
              return std::count(groups.begin(), groups.end(), "") == 0
                         ? absl::OkStatus()
                         : invalid("it must be all, none, elementwise, or groups separated by commas");
            });
}

void Flags::addPositional(const std::string &valueName, std::string *value) {
  positionals.emplace_back(valueName, value);
}

Flags::Flag *Flags::find(const std::string &name) {
  auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag &flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

bool Flags::isGiven(const std::string &name) const {
  return std::any_of(flags.begin(), flags.end(), [&](const Flag &flag) { return flag.name == name && flag.isGiven(); });
}

void Flags::letDiffer(const std::string &name) { find(name)->mayDiffer = true; }
void Flags::letBeEmpty(const std::string &name) { find(name)->mayBeEmpty = true; }

std::string Flags::given() const {
  std::vector<std::string> texts;
  for (const Flag &flag : flags) {
    if (flag.mayDiffer)
      continue;
    std::vector<std::string> values;
    for (std::string value : flag.values) {
      if (absl::EndsWith(flag.valueName, ",...")) // commas and spaces mean the same here
        value = absl::StrJoin(absl::StrSplit(value, absl::ByAnyChar(", "), absl::SkipEmpty()), ",");
      const size_t path =
          std::min(flag.valueName.find("FILE"), flag.valueName.find("DIRECTORY")); // in NAME=FILE it follows NAME=
      values.push_back(path == std::string::npos
                           ? value
                           : value.substr(0, path == 0 ? 0 : value.find('=') + 1) + flag.valueName.substr(path));
    }
    std::sort(values.begin(), values.end()); // the order of a repeated flag has no meaning
    for (const std::string &value : values)
      texts.push_back(absl::StrCat("--", flag.name, flag.isSwitch() ? "" : "=", value));
  }
  return texts.empty() ? "no flags" : absl::StrJoin(texts, " ");
}

absl::Status Flags::unknown(const std::string &name) const {
  std::string nearest;
  unsigned distance = 4;
  for (const Flag &flag : flags) {
    unsigned edits = llvm::StringRef(name).edit_distance(flag.name, true, distance);
    if (edits < distance) {
      distance = edits;
      nearest = flag.name;
    }
  }
  return invalid(absl::StrCat("unknown flag '--", name, "'; ",
                              nearest.empty() ? "" : absl::StrCat("did you mean '--", nearest, "'? "),
                              "--help lists all (help(splitcast.init), in Python)"));
}

absl::Status Flags::parseFlag(const std::string &argument, const std::vector<std::string> &arguments, size_t &next) {
  size_t equals = argument.find('=');
  std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
  Flag *flag = find(name);
  if (!flag)
    return unknown(name);
  if (flag->isGiven() && !flag->isRepeatable)
    return invalid(absl::StrCat("--", name, " is given twice; give it once"));
  std::string value;
  if (equals != std::string::npos) {
    if (flag->isSwitch())
      return invalid(absl::StrCat("--", name, " takes no value, but has '", argument.substr(equals + 1), "'"));
    value = argument.substr(equals + 1);
  } else if (!flag->isSwitch()) {
    if (next == arguments.size())
      return invalid(absl::StrCat("--", name, " has no value; write --", name, "=", flag->valueName));
    value = arguments[next++];
  }
  if (value.empty() && flag->isPath() && !flag->mayBeEmpty)
    return invalid(absl::StrCat("--", name, " is empty; give a ", flag->valueName, ", or leave the flag out"));
  flag->values.push_back(value);
  absl::Status status = flag->parse(value);
  if (status.ok())
    return status;
  return invalid(absl::StrCat("--", name, " is '", value, "'; ", std::string(status.message())));
}

absl::Status Flags::parse(int argc, const char *const *argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  helpWanted = std::find(arguments.begin(), arguments.end(), "--help") != arguments.end();
  size_t positional = 0;
  for (size_t next = 0; next < arguments.size() && !helpWanted;) {
    const std::string &argument = arguments[next++];
    if (argument.rfind("--", 0) == 0) {
      SPLITCAST_RETURN_IF_ERROR(parseFlag(argument, arguments, next));
    } else if (positional < positionals.size()) {
      *positionals[positional++].second = argument;
    } else {
      return invalid(absl::StrCat("unexpected argument '", argument, "'; flags begin with --, and --help lists them"));
    }
  }
  if (positional < positionals.size() && !helpWanted)
    return invalid(absl::StrCat("no ", positionals[positional].first, " is given; usage: ", program, " ",
                                usage.substr(0, usage.find('\n'))));
  return absl::OkStatus();
}

std::string Flags::help() const {
  std::string text = absl::StrCat("usage: ", program, " ", usage, "\n\n");
  for (const Flag &flag : flags) {
    std::string left = absl::StrCat("  --", flag.name, flag.isSwitch() ? "" : "=", flag.valueName);
    left.resize(std::max(left.size() + 2, kHelpColumn), ' ');
    absl::StrAppend(&text, left, flag.help, "\n");
  }
  return text;
}

} // namespace splitcast
