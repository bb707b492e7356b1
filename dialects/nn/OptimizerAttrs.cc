// #nn.NAME<number = 0.5, ...>: optimizers and schedules of the learning rate in the IR. Which names and numbers there
// are, these say themselves (Hyperparameters.h).
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

/// `name = value, ...` between < and >; the first must be there.
FailureOr<std::vector<double>> parseNumbers(DialectAsmParser &parser, const Hyperparameters &model) {
  const std::vector<Hyperparameter> known = model.numbers();
  std::vector<double> values = model.values();
  llvm::SmallBitVector isSaid(known.size());
  auto parseOne = [&]() -> ParseResult {
    StringRef name;
    Attribute value;
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
    if (parser.parseEqual() || parser.parseAttribute(value))
      return failure();
    if (auto number = dyn_cast<FloatAttr>(value))
      values[index] = number.getValueAsDouble();
    else if (auto integer = dyn_cast<IntegerAttr>(value))
      values[index] = static_cast<double>(integer.getInt());
    else
      return parser.emitError(at) << name << " is " << value << "; it must be " << toString(found->bounds);
    return success();
  };
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseOne))
    return failure();
  if (!isSaid.test(0)) {
    parser.emitError(at) << model.name() << " needs " << known.front().name;
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

template <typename AttrT> void print(AttrT attr, const Hyperparameters &model, DialectAsmPrinter &printer) {
  Builder b(attr.getContext());
  printer << attr.getName().getValue() << '<';
  llvm::interleaveComma(llvm::zip(model.numbers(), attr.getValues().asArrayRef()), printer, [&](auto named) {
    printer << std::get<0>(named).name << " = ";
    printer.printAttributeWithoutType(b.getF64FloatAttr(std::get<1>(named)));
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
  parser.emitError(at) << "'" << name << "' is no attribute of nn; optimizers are " << knownOptimizers()
                       << ", schedules of the learning rate " << knownRates();
  return {};
}

void NnDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  llvm::TypeSwitch<Attribute>(attr)
      .Case([&](OptimizerAttr optimizer) { print(optimizer, *optimizer.model(), printer); })
      .Case([&](RateScheduleAttr rate) { print(rate, *rate.model(), printer); });
}

LogicalResult OptimizerAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                    DenseF64ArrayAttr values) {
  return verifyNumbers(emitError, makeOptimizer(name.str()), name, values, knownOptimizers());
}
LogicalResult RateScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                       DenseF64ArrayAttr values) {
  return verifyNumbers(emitError, makeRate(name.str()), name, values, knownRates());
}

OptimizerAttr OptimizerAttr::get(MLIRContext *context, const Optimizer &optimizer) {
  return get(context, StringAttr::get(context, optimizer->name()),
             DenseF64ArrayAttr::get(context, optimizer->values()));
}
RateScheduleAttr RateScheduleAttr::get(MLIRContext *context, const RateSchedule &schedule) {
  return get(context, StringAttr::get(context, schedule->name()), DenseF64ArrayAttr::get(context, schedule->values()));
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
