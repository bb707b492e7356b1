#include "compiler/launch/SavedRates.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <vector>

namespace splitcast {
namespace {

using runtime::ElementType;

/// Whether this is the learning rate of a parameter group, which the expansion
/// of optimizers adds to a module: "optimizer.learning_rate", or
/// "optimizer.GROUP.learning_rate".
bool isRate(const Session::Variable &variable) {
  return variable.shape.empty() && absl::StartsWith(variable.name, "optimizer.") &&
         absl::EndsWith(variable.name, ".learning_rate") &&
         (variable.type == ElementType::F32 || variable.type == ElementType::F64);
}

/// A learning rate of the session, in its own type and as a number.
struct Rate {
  Session::Variable variable;
  std::vector<std::byte> bytes;
  double number() const {
    if (variable.type == ElementType::F64)
      return *reinterpret_cast<const double *>(bytes.data());
    return *reinterpret_cast<const float *>(bytes.data());
  }
  /// The shortest text of a number that gives the same bits.
  std::string text() const {
    const double value = number();
    for (int digits = 6; digits < 17; ++digits)
      if (const std::string text = absl::StrFormat("%.*g", digits, value); isSame(std::strtod(text.c_str(), nullptr)))
        return text;
    return absl::StrFormat("%.17g", value);
  }

private:
  bool isSame(double other) const {
    return variable.type == ElementType::F64 ? other == number() : static_cast<float>(other) == number();
  }
};

absl::StatusOr<std::vector<Rate>> ratesOf(Session &session) {
  std::vector<Rate> rates;
  for (const Session::Variable &variable : session.variables()) {
    if (!isRate(variable))
      continue;
    Rate rate{variable, std::vector<std::byte>(runtime::bytesOf(variable.type))};
    SPLITCAST_RETURN_IF_ERROR(session.readVariable(variable.name, rate.bytes.data()));
    rates.push_back(std::move(rate));
  }
  return rates;
}

} // namespace

std::string decisionTable() {
  std::string table = "| what | decided by |\n|---|---|\n";
  for (const Decision &decision : kDecisions)
    absl::StrAppend(&table, "| ", decision.what, " | ", decision.decidedBy, " |\n");
  return table;
}

void SavedRates::addTo(Flags &flags) {
  flags.addParsed("rates", "saved|command",
                  "which learning rates count if those of the checkpoint or file that is loaded are not those of this "
                  "command; without this flag, that is an error",
                  false, [this](const std::string &text) {
                    return text.empty() ? absl::InvalidArgumentError("it must be saved or command") : choose(text);
                  });
}

absl::Status SavedRates::choose(const std::string &text) {
  if (!text.empty() && text != "saved" && text != "command")
    return absl::InvalidArgumentError("it must be saved or command");
  choice = text.empty() ? Choice::MustAgree : text == "saved" ? Choice::Saved : Choice::Command;
  return absl::OkStatus();
}

absl::Status SavedRates::load(Session &session, const std::string &path, absl::FunctionRef<absl::Status()> load) const {
  SPLITCAST_ASSIGN_OR_RETURN(const std::vector<Rate> ofCommand, ratesOf(session));
  SPLITCAST_RETURN_IF_ERROR(load());
  SPLITCAST_ASSIGN_OR_RETURN(const std::vector<Rate> ofFile, ratesOf(session));
  for (size_t i = 0; i < ofFile.size(); ++i) {
    const Rate &saved = ofFile[i], &said = ofCommand[i];
    if (saved.number() == said.number() || choice == Choice::Saved || (choice == Choice::MustAgree && !isNamed))
      continue;
    if (choice == Choice::MustAgree)
      return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", saved.variable.name, " is ", saved.text(),
                                                     " in the file, but ", said.text(), " here; say ", choiceName,
                                                     "saved to go on with ", saved.text(), ", or ", choiceName,
                                                     "command to go on with ", said.text()));
    SPLITCAST_RETURN_IF_ERROR(session.writeVariable(said.variable.name, said.bytes.data()));
  }
  return absl::OkStatus();
}

} // namespace splitcast
