// Implements #sbp.policy and sbp.group, the decisions about variables.
#include "dialects/sbp/Sbp.h"

using namespace mlir;
using namespace splitcast::sbp;

//===----------------------------------------------------------------------===//
// <stage = 3, bucket_bytes = 4096>: the names of the options, as identifiers
//===----------------------------------------------------------------------===//

static std::string asIdentifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

static std::string identifierOf(const DecisionInfo &info) { return asIdentifier(info.name); }

static std::string knownDecisions() {
  std::string text;
  for (const DecisionInfo &info : decisionInfos())
    text += (text.empty() ? "" : ", ") + identifierOf(info);
  return text;
}

/// Parses a word or a number, as text. `true` and `false` count as words,
/// although the parser of numbers accepts them.
static ParseResult parseChoice(AsmParser &parser, std::string &text) {
  for (const char *word : {"true", "false"})
    if (succeeded(parser.parseOptionalKeyword(word))) {
      text = word;
      return success();
    }
  int64_t number = 0;
  OptionalParseResult isNumber = parser.parseOptionalInteger(number);
  if (!isNumber.has_value())
    return parser.parseKeywordOrString(&text);
  text = std::to_string(number);
  return *isNumber;
}

static ParseResult parseDecision(AsmParser &parser, Policy &policy) {
  SMLoc at = parser.getCurrentLocation();
  std::string name, value;
  if (parser.parseKeywordOrString(&name))
    return failure();
  name = asIdentifier(name); // a string may be the option's name, with hyphens
  if (failed(parser.parseOptionalEqual()))
    return parser.emitError(parser.getCurrentLocation())
           << "expected '=' behind '" << name << "'; write " << knownDecisions() << ", with underscores, then '='";
  auto info = llvm::find_if(decisionInfos(), [&](const DecisionInfo &known) { return identifierOf(known) == name; });
  if (info == decisionInfos().end())
    return parser.emitError(at) << "a policy does not decide '" << name << "'; it may decide " << knownDecisions();
  if (policy.get(info->decision))
    return parser.emitError(at) << "a policy says '" << name << "' twice; say it once";
  SMLoc atValue = parser.getCurrentLocation();
  if (parseChoice(parser, value))
    return failure();
  std::optional<int64_t> parsed = info->parse(value);
  if (!parsed)
    return parser.emitError(atValue) << name << " is '" << value << "', which must be " << info->allowed();
  policy.set(info->decision, *parsed);
  return success();
}

Attribute PolicyAttr::parse(AsmParser &parser, Type) {
  Policy policy;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] { return parseDecision(parser, policy); }))
    return {};
  return PolicyAttr::get(parser.getContext(), policy);
}

void PolicyAttr::print(AsmPrinter &printer) const {
  printer << "<";
  bool isFirst = true;
  for (const DecisionInfo &info : decisionInfos()) {
    std::optional<int64_t> value = getPolicy().get(info.decision);
    if (!value)
      continue;
    printer << (isFirst ? "" : ", ") << identifierOf(info) << " = " << info.toString(*value);
    isFirst = false;
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Groups and variables
//===----------------------------------------------------------------------===//

LogicalResult GroupOp::verify() {
  if (getName().empty())
    return emitOpError() << "has no name; name the group of some variables";
  if (getPolicy().getPolicy().isEmpty())
    return emitOpError() << "\"" << getName() << "\" decides nothing; say " << knownDecisions() << ", or drop it";
  return success();
}

Policy VariableOp::getPolicyOrDefault() { return getPolicyAttr() ? getPolicyAttr().getPolicy() : Policy(); }

LogicalResult splitcast::sbp::GroupPolicies::add(GroupOp group) {
  auto [known, isNew] = groups.try_emplace(group.getName(), Entry{group, false});
  if (isNew)
    return success();
  return (group.emitOpError() << "\"" << group.getName() << "\" has two sbp.group ops; write one")
             .attachNote(known->second.group.getLoc())
         << "first here";
}

Policy splitcast::sbp::GroupPolicies::policyOf(VariableOp variable) {
  Policy policy = variable.getPolicyOrDefault();
  for (StringRef name = variable.getGroupOrPrefix(); !name.empty();) {
    if (auto found = groups.find(name); found != groups.end()) {
      policy = policy.over(found->second.group.getPolicy().getPolicy());
      found->second.hasVariable = true;
    }
    size_t dot = name.rfind('.');
    name = dot == StringRef::npos ? StringRef() : name.substr(0, dot);
  }
  return policy;
}

LogicalResult splitcast::sbp::GroupPolicies::verifyAllUsed() {
  for (auto &[name, entry] : groups)
    if (!entry.hasVariable)
      return entry.group.emitOpError() << "\"" << name << "\" has no variable; a variable's group is what it names, or "
                                       << "its own name up to the last dot";
  return success();
}
