// Parses, prints and verifies #nn.NAME<number = 0.5, ...>: optimizers,
// schedules of the learning rate and loss scales. The structs themselves say
// which names and numbers there are (Hyperparameters.h).
#include "dialects/nn/Nn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NnAttrs.cpp.inc"

void NnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/NnAttrs.cpp.inc"
      >();
}

namespace {

/// Parses the number after `name =`.
ParseResult parseNumber(DialectAsmParser &parser, const Hyperparameter &of, double &number) {
  Attribute value;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseAttribute(value))
    return failure();
  const char *end = parser.getCurrentLocation().getPointer(); // where the next token begins
  StringRef text = StringRef(at.getPointer(), end - at.getPointer()).rtrim();
  auto integer = dyn_cast<IntegerAttr>(value);
  if (auto floating = dyn_cast<FloatAttr>(value))
    number = floating.getValueAsDouble();
  else if (!integer || !integer.getType().isSignlessInteger(64))
    return parser.emitError(at) << of.name << " is " << value << "; it must be " << toString(of.bounds)
                                << ", written without a type";
  else if (text.ltrim("- ").starts_with("0x")) // this may mean the number or its bits
    return parser.emitError(at) << of.name << " is " << text << "; it must be written in decimal, as " << of.name
                                << " = 1.5 or " << of.name << " = 2";
  else
    number = static_cast<double>(integer.getInt());
  return success();
}

/// Parses `name = value, ...` between < and >. The first number must be given.
FailureOr<std::vector<double>> parseNumbers(DialectAsmParser &parser, const Hyperparameters &model) {
  const std::vector<Hyperparameter> known = model.numbers();
  std::vector<double> values = model.values();
  llvm::SmallBitVector isSaid(known.size());
  auto parseOne = [&]() -> ParseResult {
    StringRef name;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    auto found = llvm::find_if(known, [&](const Hyperparameter &number) { return number.name == name; });
    if (found == known.end())
      return parser.emitError(at) << model.unknown(name.str());
    const size_t index = found - known.begin();
    if (isSaid.test(index))
      return parser.emitError(at) << model.name() << " says " << name << " twice";
    isSaid.set(index);
    return failure(parser.parseEqual() || parseNumber(parser, *found, values[index]));
  };
  const bool isEmpty = failed(parser.parseOptionalLess()) || succeeded(parser.parseOptionalGreater());
  if (!isEmpty && (parser.parseCommaSeparatedList(parseOne) || parser.parseGreater()))
    return failure();
  if (!known.empty() && !isSaid.test(0)) {
    parser.emitError(parser.getNameLoc()) << model.name() << " needs " << known.front().name << "; write "
                                          << known.front().name << " = NUMBER between < and >";
    return failure();
  }
  return values;
}

template <typename AttrT> Attribute parseNamed(DialectAsmParser &parser, StringRef name, const Hyperparameters &model) {
  SMLoc at = parser.getCurrentLocation();
  FailureOr<std::vector<double>> values = parseNumbers(parser, model);
  if (failed(values))
    return {};
  return parser.getChecked<AttrT>(at, parser.getContext(), StringAttr::get(parser.getContext(), name),
                                  DenseF64ArrayAttr::get(parser.getContext(), *values));
}

/// Returns the text of a number. MLIR prints whole numbers of 7 digits and more
/// as their bits, which would be read as another number; these are printed in
/// decimal, with a point.
std::string textOf(FloatAttr number) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  number.print(stream, /*elideType=*/true);
  if (!StringRef(stream.str()).starts_with("0x") || !number.getValue().isFinite())
    return text;
  SmallString<32> digits;
  number.getValue().toString(digits);
  return (digits + ".0").str();
}

template <typename AttrT> void print(AttrT attr, const Hyperparameters &model, DialectAsmPrinter &printer) {
  Builder b(attr.getContext());
  printer << attr.getName().getValue() << '<';
  llvm::interleaveComma(llvm::zip(model.numbers(), attr.getValues().asArrayRef()), printer, [&](auto named) {
    printer << std::get<0>(named).name << " = " << textOf(b.getF64FloatAttr(std::get<1>(named)));
  });
  printer << '>';
}

template <typename Model>
LogicalResult verifyNumbers(function_ref<InFlightDiagnostic()> emitError, std::unique_ptr<Model> model, StringAttr name,
                            DenseF64ArrayAttr values, const std::string &known) {
  if (!model)
    return emitError() << "'" << name.getValue() << "' is not known; it must be " << known;
  if (model->numbers().size() != static_cast<size_t>(values.size()))
    return emitError() << name.getValue() << " has " << values.size() << " numbers; it must have "
                       << model->numbers().size();
  model->set(values.asArrayRef().vec());
  if (auto wrong = model->wrong())
    return emitError() << *wrong;
  return success();
}

} // namespace

Attribute NnDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  StringRef name;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return {};
  if (auto optimizer = makeOptimizer(name.str()))
    return parseNamed<OptimizerAttr>(parser, name, *optimizer);
  if (auto rate = makeRate(name.str()))
    return parseNamed<RateScheduleAttr>(parser, name, *rate);
  if (name.str() == LossScale::kName)
    return parseNamed<LossScaleAttr>(parser, name, LossScaleModel(LossScale()));
  if (name == ParametersAttr::kKeyword)
    return ParametersAttr::parse(parser);
  parser.emitError(at) << "'" << name << "' is no attribute of nn; optimizers are " << knownOptimizers()
                       << ", schedules of the learning rate " << knownRates();
  return {};
}

void NnDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  llvm::TypeSwitch<Attribute>(attr)
      .Case([&](OptimizerAttr optimizer) { print(optimizer, *optimizer.model(), printer); })
      .Case([&](RateScheduleAttr rate) { print(rate, *rate.model(), printer); })
      .Case([&](LossScaleAttr scale) { print(scale, *scale.model(), printer); })
      .Case([&](ParametersAttr group) { group.print(printer); });
}

LogicalResult OptimizerAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                    DenseF64ArrayAttr values) {
  return verifyNumbers(emitError, makeOptimizer(name.str()), name, values, knownOptimizers());
}
LogicalResult RateScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                       DenseF64ArrayAttr values) {
  return verifyNumbers(emitError, makeRate(name.str()), name, values, knownRates());
}

LogicalResult LossScaleAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                    DenseF64ArrayAttr values) {
  return verifyNumbers(emitError, std::make_unique<LossScaleModel>(LossScale()), name, values, name.str());
}

OptimizerAttr OptimizerAttr::get(MLIRContext *context, const Optimizer &optimizer) {
  return get(context, StringAttr::get(context, optimizer->name()),
             DenseF64ArrayAttr::get(context, optimizer->values()));
}
RateScheduleAttr RateScheduleAttr::get(MLIRContext *context, const RateSchedule &schedule) {
  return get(context, StringAttr::get(context, schedule->name()), DenseF64ArrayAttr::get(context, schedule->values()));
}

LossScaleAttr LossScaleAttr::get(MLIRContext *context, const LossScale &scale) {
  const LossScaleModel model(scale);
  return get(context, StringAttr::get(context, model.name()), DenseF64ArrayAttr::get(context, model.values()));
}

std::unique_ptr<OptimizerModel> OptimizerAttr::model() const {
  std::unique_ptr<OptimizerModel> model = makeOptimizer(getName().str());
  model->set(getValues().asArrayRef().vec());
  return model;
}
std::unique_ptr<RateModel> RateScheduleAttr::model() const {
  std::unique_ptr<RateModel> model = makeRate(getName().str());
  model->set(getValues().asArrayRef().vec());
  return model;
}
std::unique_ptr<LossScaleModel> LossScaleAttr::model() const {
  auto model = std::make_unique<LossScaleModel>(LossScale());
  model->set(getValues().asArrayRef().vec());
  return model;
}
