// The functions, the variables and the module of a graph. Its ops are in
// GraphOps.cc.
#include "compiler/graph/GraphState.h"

#include "compiler/Pipelines.h"
#include "compiler/graph/GraphDiagnostics.h"
#include "dialects/sbp/ValueNames.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace splitcast {

Type toMlir(MLIRContext *context, ElementType type) {
  Builder builder(context);
  switch (type) {
  case ElementType::F32:
    return builder.getF32Type();
  case ElementType::F64:
    return builder.getF64Type();
  case ElementType::BF16:
    return builder.getBF16Type();
  case ElementType::F16:
    return builder.getF16Type();
  case ElementType::I64:
    return builder.getI64Type();
  case ElementType::I32:
    return builder.getI32Type();
  case ElementType::I8:
    return builder.getI8Type();
  case ElementType::I1:
    return builder.getI1Type();
  }
  return {};
}

std::string shapeText(const sbp::Shape &shape) { return shape.empty() ? "scalar" : absl::StrJoin(shape, "x"); }

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

sbp::Shape Tensor::shape() const { return isValid() ? sbp::shapeOf(value.getType()) : sbp::Shape(); }

ElementType Tensor::type() const {
  Type element = mlir::cast<RankedTensorType>(value.getType()).getElementType();
  return runtime::elementTypeOf(element).value_or(ElementType::F32);
}

std::string describe(const Tensor &tensor) {
  if (!tensor.isValid())
    return "invalid";
  std::string shape = absl::StrCat(absl::StrJoin(tensor.shape(), "x"), tensor.shape().empty() ? "" : "x");
  std::string name = GraphBuilder::stateOf(tensor)->valueNames.lookup(GraphBuilder::valueOf(tensor));
  return absl::StrCat(name, name.empty() ? "" : ": ", shape, runtime::nameOf(tensor.type()));
}

//===----------------------------------------------------------------------===//
// GraphBuilder
//===----------------------------------------------------------------------===//

std::optional<GraphBuilder> GraphBuilder::forOp(const std::string &name, ArrayRef<Tensor> operands, Caller at) {
  GraphState *state = nullptr;
  for (const Tensor &operand : operands)
    state = state ? state : operand.graph;
  if (!state)
    return std::nullopt;
  std::string call = absl::StrCat(
      state->within.empty() || state->within == name ? "" : state->within + "'s ", name, "(",
      absl::StrJoin(operands, ", ",
                    [](std::string *out, const Tensor &tensor) { absl::StrAppend(out, describe(tensor)); }),
      ")");
  GraphBuilder builder(*state, std::move(call), at);
  if (!builder.isOpen())
    return std::nullopt;
  for (const Tensor &operand : operands) {
    if (operand.graph != state) {
      builder.fail(operand.graph ? "has an operand of another graph; build all of a model in one graph"
                                 : "has an operand that no graph made; pass the result of a call");
      return std::nullopt;
    }
    // The error was recorded when the operand became invalid.
    if (!operand.isValid())
      return std::nullopt;
    Block *block = valueOf(operand).getParentBlock();
    if (builder.block && builder.block != block) {
      builder.fail("has operands of two functions; only variables are shared between functions");
      return std::nullopt;
    }
    builder.block = block;
  }
  return builder;
}

WithinFunction::WithinFunction(const Tensor &operand, const char *name) : state(GraphBuilder::stateOf(operand)) {
  if (state && !state->within.empty())
    state = nullptr;
  if (state)
    state->within = name;
}

WithinFunction::~WithinFunction() {
  if (state)
    state->within.clear();
}

Tensor GraphBuilder::fail(const std::string &message) {
  state.errors.push_back(absl::StrCat(at.file(), ":", at.line(), ": ", call, " ", message));
  return Tensor(&state, Value());
}

bool GraphBuilder::isOpen() {
  if (state.isFinished)
    fail("comes after the graph was finished; nothing can be added to it");
  return !state.isFinished && state.placement;
}

Location GraphBuilder::location() {
  StringRef name = StringRef(call).take_until([](char c) { return c == '('; });
  Location place =
      FileLineColLoc::get(&state.context, at.file(), at.line(), /*column=*/0); // __builtin_LINE has no column
  return NameLoc::get(state.builder.getStringAttr(name), place);
}

void GraphBuilder::name(const Tensor &tensor, const std::string &name) {
  Operation *op = tensor.value.getDefiningOp();
  if (!op || isa<sbp::ReadOp>(op))
    return;
  op->setLoc(sbp::withValueName(op->getLoc(), name));
  state.valueNames[tensor.value] = name;
}

Tensor GraphBuilder::keep(Operation *op) {
  if (!verifyOrErase(op))
    return Tensor(&state, Value());
  return Tensor(&state, op->getResult(0));
}

bool GraphBuilder::verifyOrErase(Operation *op) {
  DiagnosticCollector collector(&state.context);
  if (succeeded(verify(op)))
    return true;
  op->erase();
  std::string message = absl::StrJoin(collector.messages(), "; ");
  // Removes "'nn.matmul' op ", since the message begins with the call.
  size_t prefixEnd = message.find("' op ");
  if (message.rfind('\'', 0) == 0 && prefixEnd != std::string::npos)
    message.erase(0, prefixEnd + 5);
  fail(message.empty() ? "is not a legal op" : message);
  return false;
}

GraphFunction &GraphBuilder::currentFunction() {
  GraphFunction &function = state.functions[state.current];
  if (!function.op) {
    state.builder.setInsertionPointToEnd(state.module->getBody());
    function.op = state.builder.create<func::FuncOp>(location(), state.current, state.builder.getFunctionType({}, {}));
    function.op.addEntryBlock();
  }
  return function;
}

GraphFunction &GraphBuilder::operandFunction() {
  return state.functions[mlir::cast<func::FuncOp>(block->getParentOp()).getSymNameAttr()];
}

sbp::NdAttr GraphBuilder::signature(const Layout &layout, const sbp::Shape &shape) {
  if (!state.placement) {
    fail("has no signature, since the graph has no placement");
    return {};
  }
  sbp::NdSbp entries = layout.entries;
  auto axes = static_cast<size_t>(state.placement.getNumAxes());
  if (entries.size() > axes) {
    fail(absl::StrCat("has a layout along ", entries.size(), " axes, but the placement has ", axes));
    return {};
  }
  entries.resize(axes, sbp::Sbp::broadcast());
  for (auto [entry, size] : llvm::zip(entries, state.placement.getAxisSizes()))
    if (entry.isPartial() || (entry.isAt() && (entry.dim < 0 || entry.dim >= size)) || entry.isFlat() ||
        (entry.isSplit() && !entry.isPlain()) ||
        (entry.isSplit() && (entry.dim < 0 || entry.dim >= static_cast<int64_t>(shape.size())))) {
      fail(absl::StrCat(
          "cannot lay out ", shapeText(shape), " as ", sbp::toString(entries),
          "; entries must be B, S(d) with d a dimension of the tensor, or At(k) with k a coordinate of the axis"));
      return {};
    }
  return sbp::NdAttr::get(state.placement, entries);
}

RankedTensorType GraphBuilder::tensorType(ElementType type, const sbp::Shape &shape, const Layout &layout) {
  for (int64_t extent : shape)
    if (extent < 0) {
      fail(absl::StrCat("has shape ", shapeText(shape), "; extents must not be negative"));
      return {};
    }
  sbp::NdAttr encoding = signature(layout, shape);
  return encoding ? RankedTensorType::get(shape, toMlir(&state.context, type), encoding) : RankedTensorType();
}

Attribute GraphBuilder::initializer(const Init &init) {
  MLIRContext *context = &state.context;
  switch (init.kind) {
  case Init::Kind::Constant:
    return sbp::ConstantInitAttr::get(context, number(init.first));
  case Init::Kind::Uniform:
    return sbp::UniformInitAttr::get(context, number(init.first), number(init.second));
  case Init::Kind::Normal:
    return sbp::NormalInitAttr::get(context, number(init.first), number(init.second));
  case Init::Kind::File:
    return sbp::FileInitAttr::get(context, state.builder.getStringAttr(init.path),
                                  state.builder.getStringAttr(init.tensor));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

GraphState::GraphState(const GraphOptions &options)
    : context(MLIRContext::Threading::DISABLED), builder(&context), current(builder.getStringAttr("main")) {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  // All dialects are loaded, since a session compiles the module in this
  // context.
  context.loadAllAvailableDialects();
  // An error in a large module should not print the whole module.
  context.printOpOnDiagnostic(false);
  module = ModuleOp::create(builder.getUnknownLoc());
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const sbp::Axis &axis : options.axes) {
    names.push_back(builder.getStringAttr(axis.name));
    sizes.push_back(axis.size);
  }
  DiagnosticCollector collector(&context);
  auto emitError = [&] { return mlir::emitError(builder.getUnknownLoc()); };
  if (names.empty())
    errors.push_back("Graph: the placement has no axis; give at least one, such as {\"dp\", 1}");
  else if (failed(sbp::PlacementAttr::verify(emitError, builder.getStringAttr(options.deviceKind), names, sizes, {})))
    errors.push_back(absl::StrCat("Graph: ", absl::StrJoin(collector.messages(), "; ")));
  else
    placement = sbp::PlacementAttr::fromAlgebra(&context, {options.deviceKind, options.axes, {}});
  if (placement)
    (*module)->setAttr("sbp.placement", placement);
}

Graph::Graph(const GraphOptions &options) : state(std::make_unique<GraphState>(options)) {}
Graph::~Graph() = default;
Graph::Graph(Graph &&) noexcept = default;

const std::vector<std::string> &Graph::variableNames() const { return state->variableNames; }

void Graph::function(const std::string &name, Caller at) {
  GraphBuilder builder(*state, absl::StrCat("function '", name, "'"), at);
  if (name.empty() || state->variables.count(name)) {
    builder.fail(name.empty() ? "has no name" : "has the name of a variable; give it another");
    return;
  }
  state->current = state->builder.getStringAttr(name);
  if (builder.isOpen())
    builder.currentFunction();
}

void Graph::group(const std::string &name, const sbp::Policy &policy, Caller at) {
  GraphBuilder builder(*state, absl::StrCat("group '", name, "'"), at);
  if (!builder.isOpen())
    return;
  state->builder.setInsertionPointToStart(state->module->getBody());
  auto op =
      state->builder.create<sbp::GroupOp>(builder.location(), name, sbp::PolicyAttr::get(&state->context, policy));
  if (builder.verifyOrErase(op) && !state->groups.insert(name).second)
    builder.fail("has two policies; give all of its policy in one call");
}

Tensor Graph::input(const std::string &name, ElementType type, const sbp::Shape &shape, const Layout &layout,
                    Caller at) {
  GraphBuilder builder(*state, absl::StrCat("input '", name, "'"), at);
  if (!builder.isOpen())
    return GraphBuilder::tensor(*state, Value());
  GraphFunction &function = builder.currentFunction();
  if (name.empty() || llvm::is_contained(function.inputNames, name))
    return builder.fail(name.empty() ? "has no name" : "is there already; inputs of a function have distinct names");
  RankedTensorType tensorType = builder.tensorType(type, shape, layout);
  if (!tensorType)
    return GraphBuilder::tensor(*state, Value());
  function.inputNames.push_back(name);
  Value argument = function.op.getBody().front().addArgument(tensorType, builder.location());
  state->valueNames[argument] = name;
  return GraphBuilder::tensor(*state, argument);
}

/// Declares a variable. Returns null, after recording an error, if that is not
/// possible.
static sbp::VariableOp declare(GraphBuilder &builder, const std::string &name, RankedTensorType type, const Init &init,
                               const VariableOptions &options) {
  GraphState &state = builder.state;
  if (name.empty() || state.functions.count(state.builder.getStringAttr(name))) {
    builder.fail(name.empty() ? "has no name" : "has the name of a function; give it another");
    return {};
  }
  state.builder.setInsertionPointToStart(state.module->getBody());
  if (!state.variableNames.empty())
    state.builder.setInsertionPointAfter(state.variables[state.variableNames.back()]);
  auto op =
      state.builder.create<sbp::VariableOp>(builder.location(), name, type, builder.initializer(init), options.group);
  op.setFrozen(!options.trainable);
  if (!options.policy.isEmpty())
    op.setPolicyAttr(sbp::PolicyAttr::get(&state.context, options.policy));
  if (!builder.verifyOrErase(op))
    return {};
  state.variables[name] = op;
  state.variableNames.push_back(name);
  return op;
}

/// Returns the read of a variable at the function's entry, and creates it if it
/// does not exist yet.
static Value readOf(GraphBuilder &builder, GraphFunction &function, sbp::VariableOp variable) {
  GraphState &state = builder.state;
  Value &read = function.reads[variable.getSymName()];
  if (read)
    return read;
  state.builder.setInsertionPointToStart(&function.op.getBody().front());
  if (function.lastRead)
    state.builder.setInsertionPointAfter(function.lastRead);
  auto op = state.builder.create<sbp::ReadOp>(builder.location(), nn::undecided(variable.getTensorType()),
                                              variable.getSymName());
  function.lastRead = op;
  read = op.getResult();
  state.valueNames[read] = variable.getSymName().str();
  return read;
}

Tensor GraphBuilder::variable(GraphFunction &function, const std::string &name, const sbp::Shape &shape,
                              const Init &init, const VariableOptions &options) {
  GraphBuilder builder(state, absl::StrCat("variable '", name, "'"), at);
  RankedTensorType type = builder.tensorType(options.type, shape, options.logical);
  sbp::VariableOp declared = state.variables.lookup(name);
  if (!declared && type)
    declared = declare(builder, name, type, init, options);
  if (!declared || !type)
    return Tensor(&state, Value());
  RankedTensorType first = declared.getTensorType();
  if (first.getShape() != type.getShape() || first.getElementType() != type.getElementType())
    return builder.fail(absl::StrCat("is ", shapeText(shape), " of ", runtime::nameOf(options.type),
                                     ", but it was made as ", shapeText(first.getShape().vec()), " of ",
                                     runtime::nameOf(*runtime::elementTypeOf(first.getElementType())),
                                     "; a name means the same variable in all functions"));
  return Tensor(&state, readOf(builder, function, declared));
}

Tensor Graph::variable(const std::string &name, const sbp::Shape &shape, const Init &init,
                       const VariableOptions &options, Caller at) {
  GraphBuilder builder(*state, absl::StrCat("variable '", name, "'"), at);
  if (!builder.isOpen())
    return GraphBuilder::tensor(*state, Value());
  return builder.variable(builder.currentFunction(), name, shape, init, options);
}

void Graph::freeze(const std::vector<std::string> &patterns, Caller at) {
  GraphBuilder builder(*state, "freeze", at);
  if (!builder.isOpen())
    return;
  for (const std::string &pattern : patterns) {
    bool isOfAny = false;
    for (const std::string &name : state->variableNames)
      if (nn::matchesPattern(pattern, name)) {
        state->variables[name].setFrozen(true);
        isOfAny = true;
      }
    if (!isOfAny)
      builder.fail(absl::StrCat("has the pattern '", pattern, "', which matches none of the ",
                                state->variableNames.size(),
                                " variables made so far; write a whole name, in which * stands for any characters"));
  }
}

Graph::Parameters Graph::parameters() const {
  Parameters result;
  for (const std::string &name : state->variableNames) {
    sbp::VariableOp variable = state->variables.lookup(name);
    const sbp::Shape shape = sbp::shapeOf(variable.getType());
    if (variable.getFrozen() && shape.empty())
      continue;
    result.all += sbp::numElements(shape);
    result.trained += variable.getFrozen() ? 0 : sbp::numElements(shape);
  }
  return result;
}

Tensor Graph::constant(ElementType type, const sbp::Shape &shape, double value, Caller at) {
  GraphBuilder builder(*state, absl::StrCat("constant(", shapeText(shape), ")"), at);
  RankedTensorType checked = builder.isOpen() ? builder.tensorType(type, shape, {}) : RankedTensorType();
  if (!checked)
    return GraphBuilder::tensor(*state, Value());
  builder.appendTo(builder.currentFunction());
  return builder.make<nn::ConstantOp>(nn::undecided(checked), builder.number(value));
}

Tensor Graph::iota(ElementType type, const sbp::Shape &shape, int64_t dim, Caller at) {
  GraphBuilder builder(*state, absl::StrCat("iota(", shapeText(shape), ")"), at);
  RankedTensorType checked = builder.isOpen() ? builder.tensorType(type, shape, {}) : RankedTensorType();
  if (!checked)
    return GraphBuilder::tensor(*state, Value());
  builder.appendTo(builder.currentFunction());
  return builder.make<nn::IotaOp>(nn::undecided(checked), dim);
}

/// Returns the group as an attribute, or null, after recording an error, if the
/// group is not valid.
static nn::ParametersAttr parametersOf(GraphBuilder &b, const ParameterGroup &group) {
  MLIRContext *context = &b.state.context;
  std::string wrong = group.optimizer->wrong().value_or("");
  nn::ParametersAttr made;
  if (wrong.empty()) {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) { wrong = diagnostic.str(); });
    const SmallVector<StringRef> patterns(group.patterns.begin(), group.patterns.end());
    made = nn::ParametersAttr::getChecked(
        [&] { return emitError(b.location()); }, context, StringAttr::get(context, group.name),
        Builder(context).getStrArrayAttr(patterns), nn::OptimizerAttr::get(context, group.optimizer));
  }
  if (!wrong.empty())
    b.fail(absl::StrCat("has a bad group '", group.name, "': ", wrong));
  return made;
}

/// Returns what is wrong with the optimizer, the schedule or the loss scale, or
/// nullopt.
static std::optional<std::string> wrongOf(const Optimizer &optimizer, const StepOptions &options) {
  std::optional<std::string> wrong = optimizer->wrong();
  if (!wrong && options.schedule)
    wrong = (*options.schedule)->wrong();
  if (!wrong && options.lossScale)
    wrong = nn::LossScaleModel(*options.lossScale).wrong();
  return wrong;
}

/// Appends the minimize op. Returns false, after recording an error, if an
/// argument is not valid.
static bool minimizeBy(GraphBuilder &b, Value loss, const Optimizer &optimizer, const StepOptions &options) {
  if (std::optional<std::string> wrong = wrongOf(optimizer, options)) {
    b.fail("has a bad argument: " + *wrong);
    return false;
  }
  MLIRContext *context = &b.state.context;
  SmallVector<Attribute> groups;
  for (const ParameterGroup &group : options.groups) {
    groups.push_back(parametersOf(b, group));
    if (!groups.back())
      return false;
  }
  auto number = [&](const std::optional<double> &said) { return said ? b.number(*said) : FloatAttr(); };
  return b.append<nn::MinimizeOp>(
      loss, nn::OptimizerAttr::get(context, optimizer),
      options.schedule ? nn::RateScheduleAttr::get(context, *options.schedule) : nn::RateScheduleAttr(),
      number(options.clipNorm), number(options.clipValue),
      options.lossScale ? nn::LossScaleAttr::get(context, *options.lossScale) : nn::LossScaleAttr(),
      groups.empty() ? ArrayAttr() : ArrayAttr::get(context, groups),
      options.variables.empty() ? ArrayAttr()
                                : Builder(context).getStrArrayAttr(
                                      SmallVector<StringRef>(options.variables.begin(), options.variables.end())),
      options.gradientNorm);
}

/// Returns whether this graph made the tensor; otherwise it records an error.
static bool isOwn(GraphState &state, const Tensor &tensor, const std::string &call, Caller at) {
  GraphState *const of = GraphBuilder::stateOf(tensor);
  if (of == &state)
    return true;
  GraphBuilder(state, call, at)
      .fail(of ? "has a tensor of another graph; build all of a model in one graph"
               : "has a tensor that no graph made; pass the result of a call");
  return false;
}

void Graph::minimize(const Tensor &loss, const Optimizer &optimizer, const StepOptions &options, Caller at) {
  if (!isOwn(*state, loss, "minimize", at))
    return;
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("minimize", loss, at);
  if (!builder)
    return;
  GraphFunction &function = builder->operandFunction();
  if (function.isMinimized)
    builder->fail(absl::StrCat("is the second minimize in function '", function.op.getName().str(),
                               "'; add the losses and minimize their sum"));
  else
    function.isMinimized = minimizeBy(*builder, loss.value, optimizer, options);
  if (options.accumulate < 1)
    builder->fail(absl::StrCat("has accumulate = ", options.accumulate, "; there must be at least one micro-batch"));
  else if (options.accumulate > 1)
    function.op->setAttr(sbp::kMicroBatchesName, state->builder.getI64IntegerAttr(options.accumulate));
  if (options.accumulateOrder)
    function.op->setAttr(sbp::kAccumulateOrderName,
                         state->builder.getStringAttr(sbp::toString(*options.accumulateOrder)));
  if (options.reproducible)
    function.op->setAttr(sbp::kReproducibleName, state->builder.getBoolAttr(*options.reproducible));
}

void Graph::output(const std::string &name, const Tensor &tensor, Caller at) {
  GraphBuilder builder(*state, absl::StrCat("output '", name, "'"), at);
  if (!isOwn(*state, tensor, absl::StrCat("output '", name, "'"), at))
    return;
  std::optional<GraphBuilder> checked = GraphBuilder::forOp("output", tensor, at);
  if (!checked)
    return;
  GraphFunction &function = checked->operandFunction();
  bool isTaken = llvm::any_of(function.outputs, [&](const auto &output) { return output.first == name; });
  if (name.empty() || isTaken) {
    builder.fail(name.empty() ? "has no name" : "is there already; outputs of a function have distinct names");
    return;
  }
  function.outputs.emplace_back(name, tensor.value);
  if (!state->valueNames.contains(tensor.value))
    builder.name(tensor, name);
}

void Graph::assign(const std::string &variable, const Tensor &value, Caller at) {
  const std::string call = absl::StrCat("assign '", variable, "'");
  if (!isOwn(*state, value, call, at))
    return;
  if (std::optional<GraphBuilder> checked = GraphBuilder::forOp(call, value, at))
    checked->assign(checked->operandFunction(), variable, value);
}

void GraphBuilder::assign(GraphFunction &function, const std::string &variable, const Tensor &value) {
  sbp::VariableOp known = state.variables.lookup(variable);
  if (!known)
    fail(absl::StrCat("assigns variable '", variable, "', which does not exist; make it first"));
  else if (!known.getFrozen())
    fail(absl::StrCat("assigns variable '", variable, "', which an optimizer trains; make it with trainable = false"));
  else if (isOfRandomKey(variable))
    fail(absl::StrCat("assigns variable '", variable,
                      "', which the graph itself uses for random numbers; use another variable"));
  else if (nn::undecided(value.value.getType()) != nn::undecided(known.getTensorType()))
    fail(absl::StrCat("assigns a value of another type to variable '", variable, "', which is ",
                      shapeText(sbp::shapeOf(known.getTensorType())),
                      "; give it the shape and element type of the variable"));
  else if (!function.assigned.insert(variable).second)
    fail(absl::StrCat("assigns variable '", variable, "' a second time; assign it once in a function"));
  else
    append<sbp::AssignOp>(mlir::FlatSymbolRefAttr::get(&state.context, variable), value.value);
}

//===----------------------------------------------------------------------===//
// Finishing
//===----------------------------------------------------------------------===//

/// Gives the function its type, its return, and the names of its inputs and
/// outputs.
static void complete(GraphState &state, GraphFunction &function) {
  Block &body = function.op.getBody().front();
  SmallVector<Value> results;
  for (const auto &[name, value] : function.outputs)
    results.push_back(value);
  if (function.drawsRandom)
    GraphBuilder::countStep(state, function);
  state.builder.setInsertionPointToEnd(&body);
  state.builder.create<func::ReturnOp>(function.op.getLoc(), results);
  function.op.setType(state.builder.getFunctionType(body.getArgumentTypes(), ValueRange(results).getTypes()));
  const auto withName = [&](DictionaryAttr attributes, const std::string &name) {
    NamedAttrList all(attributes);
    all.set("sbp.name", state.builder.getStringAttr(name));
    return all.getDictionary(&state.context);
  };
  SmallVector<DictionaryAttr> ofInputs, ofOutputs; // all at once: each change makes a list of all of them
  for (auto [index, name] : llvm::enumerate(function.inputNames))
    ofInputs.push_back(withName(function.op.getArgAttrDict(index), name));
  for (auto [index, output] : llvm::enumerate(function.outputs))
    ofOutputs.push_back(withName(function.op.getResultAttrDict(index), output.first));
  function.op.setAllArgAttrs(ofInputs);
  function.op.setAllResultAttrs(ofOutputs);
}

absl::StatusOr<ModuleOp> Graph::finish() {
  if (!state->isFinished && state->errors.empty()) {
    for (auto &[name, function] : state->functions)
      complete(*state, function);
    DiagnosticCollector collector(&state->context);
    if (failed(verify(*state->module)))
      state->errors = collector.locatedMessages();
  }
  state->isFinished = true;
  if (!state->errors.empty())
    return absl::InvalidArgumentError(absl::StrJoin(state->errors, "\n"));
  return *state->module;
}

absl::StatusOr<std::string> Graph::text() {
  SPLITCAST_ASSIGN_OR_RETURN(ModuleOp module, finish());
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

absl::Status Graph::writeMlir(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(std::string module, text());
  SPLITCAST_ASSIGN_OR_RETURN(runtime::PendingFile file, runtime::PendingFile::create(path));
  absl::Status written = file.file().append(module);
  return written.ok() ? file.commit() : written;
}

} // namespace splitcast
