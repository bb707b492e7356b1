// Implements #nn.parameters: variables with an optimizer of their own, found by
// their names.
#include "dialects/nn/Nn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

/// Splits a pattern at its stars, but for those behind a backslash, which stand for themselves.
static SmallVector<std::string> piecesOf(StringRef pattern) {
  SmallVector<std::string> pieces(1);
  for (size_t i = 0; i < pattern.size(); ++i)
    if (pattern.substr(i).starts_with("\\*"))
      pieces.back() += pattern[++i];
    else if (pattern[i] == '*')
      pieces.emplace_back();
    else
      pieces.back() += pattern[i];
  return pieces;
}

bool nn::matchesPattern(StringRef pattern, StringRef text) {
  if (!pattern.contains('*'))
    return pattern == text;
  const SmallVector<std::string> pieces = piecesOf(pattern);
  if (pieces.size() == 1)
    return pieces.front() == text;
  if (!text.consume_front(pieces.front()))
    return false;
  for (StringRef piece : ArrayRef<std::string>(pieces).drop_front().drop_back()) {
    const size_t found = text.find(piece); // the first match leaves the most text for the other pieces
    if (found == StringRef::npos)
      return false;
    text = text.drop_front(found + piece.size());
  }
  return text.ends_with(pieces.back());
}

bool nn::matchesAny(ArrayAttr patterns, StringRef text) {
  return llvm::any_of(patterns.getAsRange<StringAttr>(),
                      [&](StringAttr pattern) { return matchesPattern(pattern, text); });
}

bool nn::arePatterns(ArrayAttr patterns) {
  const auto isPattern = [](Attribute attr) {
    auto text = llvm::dyn_cast<StringAttr>(attr);
    return text && !text.getValue().empty();
  };
  return !patterns.empty() && llvm::all_of(patterns, isPattern);
}

bool ParametersAttr::matches(StringRef variable) const { return matchesAny(getPatterns(), variable); }

LogicalResult ParametersAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name, ArrayAttr patterns,
                                     OptimizerAttr) {
  const auto isOfNames = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (name.getValue().empty() || !llvm::all_of(name.getValue(), isOfNames))
    return emitError() << "parameters are called " << name
                       << "; a name must consist of letters, digits and underscores";
  if (!arePatterns(patterns))
    return emitError() << "parameters " << name << " are of " << patterns
                       << "; give names of variables, with stars for any characters: [\"*.bias\", \"norm.weight\"]";
  return success();
}

Attribute ParametersAttr::parse(DialectAsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  StringAttr name;
  ArrayAttr patterns;
  Attribute optimizer;
  if (parser.parseLess() || parser.parseAttribute(name) || parser.parseKeyword("of") ||
      parser.parseAttribute(patterns) || parser.parseKeyword("with") || parser.parseAttribute(optimizer) ||
      parser.parseGreater())
    return {};
  if (auto known = llvm::dyn_cast<OptimizerAttr>(optimizer))
    return parser.getChecked<ParametersAttr>(at, parser.getContext(), name, patterns, known);
  parser.emitError(at) << "parameters " << name << " are updated with " << optimizer
                       << "; it must be #nn.NAME, where NAME is " << knownOptimizers();
  return {};
}

void ParametersAttr::print(DialectAsmPrinter &printer) const {
  printer << kKeyword << '<' << getName() << " of " << getPatterns() << " with " << getOptimizer() << '>';
}
