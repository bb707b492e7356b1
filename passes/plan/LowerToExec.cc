// Lowers a rank's program to a plan:
//
//   1. BufferAssignment gives each tensor a place, ArenaPlanner each buffer an
//      offset, StorageLayout each storage a range. Carried storages lie at the
//      beginning of the arena, before all buffers of their steps.
//   2. Each op is lowered, in program order: a fusion to a launch of its kernel
//      (kernels with equal text are shared), a library's op to a call, a
//      collective to its start and its wait. Packs, assignments and copied reads
//      become copies of those values that were not made in place; a pack also
//      clears the bytes that no operand fills. Indices from outside are checked
//      before their first use. Views, reshapes, fences, scopes and returns become
//      nothing.
//   3. Each buffer is recorded in the plan with the ops during which it is live,
//      for the plan's verifier.
//   before   %0 = nn.fusion(%x) { nn.neg }                                %x : tensor<8xf32>
//            %a = ccl.reduce_scatter "g" %0 blocks [4, 4]
//            %1 = ccl.wait %a
//            %2 = nn.fusion(%w, %1) { nn.sub }                            %w = ccl.read @s
//            ccl.assign @s, %2
//   after    exec.launch @k0 reads [arena 0, 32] writes [arena 128, 32]
//            exec.collective "reduce_scatter" "g" ticket 0 data [arena 128, 32] output [arena 192, 16]
//            exec.wait 0
//            exec.launch @k1 reads [arena 192, 16] writes [persistent 0, 16] in place
#include "dialects/sbp/EntryNames.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/local/Aliases.h"
#include "passes/local/DeviceTraits.h"
#include "passes/local/Passes.h"
#include "passes/plan/BufferAssignment.h"
#include "passes/plan/KernelEmitter.h"
#include "passes/plan/Passes.h"
#include "passes/plan/StorageLayout.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_LOWERTOEXECPASS
#include "passes/plan/Passes.h.inc"
} // namespace splitcast

namespace {

/// The names of the first ops of a fusion, each once, for the name of its kernel: "_add_gelu".
std::string opsOf(nn::FusionOp fusion) {
  constexpr size_t kMostNames = 4;
  llvm::SmallSetVector<StringRef, kMostNames> names;
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>() && names.size() < kMostNames)
      names.insert(op.getName().stripDialect());
  return names.empty() ? "" : "_" + llvm::join(names, "_");
}

/// Kernels by their text: fusions with equal kernels share one.
class KernelTable {
public:
  KernelTable(ModuleOp module, EmitKernel emitKernel)
      : builder(OpBuilder::atBlockEnd(module.getBody())), emitKernel(emitKernel) {}

  FailureOr<StringAttr> add(nn::FusionOp fusion, ArrayRef<int64_t> tied, ArrayRef<int64_t> alignments) {
    FailureOr<func::FuncOp> kernel = emitKernel(builder, "kernel", fusion, tied, alignments);
    if (failed(kernel))
      return failure();
    std::string text;
    llvm::raw_string_ostream os(text);
    kernel->getOperation()->print(os, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
    StringAttr &name = known[text];
    if (name) {
      kernel->erase();
      return name;
    }
    name = builder.getStringAttr("k" + std::to_string(known.size() - 1) + opsOf(fusion));
    kernel->setName(name);
    return name;
  }

private:
  OpBuilder builder;
  EmitKernel emitKernel;
  std::map<std::string, StringAttr> known;
};

/// The groups of ranks that the functions of a module use, as symbols.
class GroupTable {
public:
  explicit GroupTable(ModuleOp module) : body(module.getBody()), symbols(module) {}

  FlatSymbolRefAttr add(ccl::GroupAttr group, Location loc) {
    FlatSymbolRefAttr &name = known[group];
    if (!name) {
      OpBuilder builder(group.getContext());
      auto op = builder.create<exec::GroupOp>(loc, builder.getStringAttr(group.getName()), nullptr,
                                              builder.getDenseI64ArrayAttr(group.getRanks()),
                                              builder.getI64IntegerAttr(group.getIndex()));
      name = FlatSymbolRefAttr::get(symbols.insert(op, last ? std::next(last->getIterator()) : body->begin()));
      last = op;
    }
    return name;
  }

private:
  Block *body;
  SymbolTable symbols;
  Operation *last = nullptr; ///< the last group; groups come first in the module
  DenseMap<ccl::GroupAttr, FlatSymbolRefAttr> known;
};

class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, const DeviceTraits &traits, const StorageLayout &layout, KernelTable &kernels,
                   GroupTable &groups, OpBuilder &builder)
      : function(function), traits(traits), assignment(function), layout(layout), kernels(kernels), groups(groups),
        builder(builder) {}

  /// Creates the plan of the function; raises `mostBytes` to the bytes of the
  /// arena that it needs.
  LogicalResult run(int64_t &mostBytes) {
    std::vector<ArenaBuffer> arena;
    const int64_t carriedBytes = layout.carriedBytes(function);
    std::optional<int64_t> together = carriedBytes; // the bytes without any reuse: an upper bound
    for (Buffer &buffer : assignment.buffers)
      if (buffer.storage.empty()) {
        arena.push_back(buffer.arena);
        together = together ? alignedEnd(*together, buffer.arena.bytes) : std::nullopt;
      }
    if (!together)
      return function.emitOpError() << "@" << function.getSymName() << " has intermediate tensors of more than "
                                    << sbp::kMostBytesText << " together; use more ranks, or smaller tensors";
    mostBytes = std::max(mostBytes, carriedBytes + planArena(arena));
    for (ArenaBuffer &buffer : arena)
      buffer.offset += carriedBytes;
    size_t next = 0;
    for (Buffer &buffer : assignment.buffers)
      if (buffer.storage.empty())
        buffer.arena = arena[next++];
    exec::PlanOp plan = createPlan();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&plan.getBody().front());
    std::vector<Operation *> lastBefore; // by op of the program, the last op of the plan before it
    for (Operation &op : function.getBody().front()) {
      Block &body = plan.getBody().front();
      lastBefore.push_back(body.empty() ? nullptr : &body.back());
      if (failed(lower(&op)))
        return failure();
    }
    attachBuffers(plan, arena, lastBefore);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Ranges
  //===--------------------------------------------------------------------===//

  exec::RangeAttr rangeOf(Place place) {
    const Buffer &buffer = assignment.buffers[place.buffer];
    if (!buffer.storage.empty())
      return layout.rangeOf(buffer.storage, place.offset, place.bytes);
    return exec::RangeAttr::get(builder.getContext(), builder.getStringAttr(exec::kArenaName),
                                buffer.arena.offset + place.offset, place.bytes);
  }
  exec::RangeAttr rangeOf(Value value) { return rangeOf(assignment.placeOf(value)); }

  ArrayAttr rangesOf(ValueRange values) {
    SmallVector<Attribute> ranges;
    for (Value value : values)
      ranges.push_back(rangeOf(value));
    return builder.getArrayAttr(ranges);
  }

  void copyIfElsewhere(Value from, Place to) {
    Place place = assignment.placeOf(from);
    if (!(place == to) && to.bytes > 0)
      builder.create<exec::CopyOp>(from.getLoc(), rangeOf(place), rangeOf(to));
  }

  //===--------------------------------------------------------------------===//
  // The plan
  //===--------------------------------------------------------------------===//

  exec::PlanOp createPlan() {
    SmallVector<Attribute> inputTypes, inputNames, outputTypes, outputNames;
    sbp::EntryNames names(function);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      inputTypes.push_back(function.getArgAttr(i, "ccl.global"));
      inputNames.push_back(names.ofInput(i));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      outputTypes.push_back(function.getResultAttr(i, "ccl.global"));
      outputNames.push_back(names.ofResult(i));
    }
    Operation *terminator = function.getBody().front().getTerminator();
    auto plan = builder.create<exec::PlanOp>(
        function.getLoc(), function.getNameAttr(), nullptr, builder.getArrayAttr(inputTypes),
        builder.getArrayAttr(inputNames), rangesOf(function.getArguments()), builder.getArrayAttr(outputTypes),
        builder.getArrayAttr(outputNames), rangesOf(terminator->getOperands()), ArrayAttr());
    plan.getBody().emplaceBlock();
    return plan;
  }

  /// Records the buffers of the arena with the ops of the plan during which
  /// they are live. An op of the program becomes any number of ops, which come
  /// after its entry of `lastBefore`. Inputs are live from before the first op;
  /// buffers that live to the end of the program are live until after the last.
  void attachBuffers(exec::PlanOp plan, ArrayRef<ArenaBuffer> arena, ArrayRef<Operation *> lastBefore) {
    DenseMap<Operation *, int64_t> numbers;
    for (Operation &op : plan.getBody().front())
      numbers.try_emplace(&op, numbers.size());
    auto firstOf = [&](int64_t op) { return lastBefore[op] ? numbers.lookup(lastBefore[op]) + 1 : 0; };
    const int64_t programEnd = lastBefore.size() - 1;
    SmallVector<Attribute> buffers;
    for (const StorageLayout::Carried &carried : layout.carriedOf(function))
      if (carried.range.getBytes() > 0)
        buffers.push_back(
            exec::BufferAttr::get(plan.getContext(), carried.role, carried.storage, carried.range, -1, numbers.size()));
    for (const ArenaBuffer &buffer : arena) {
      if (buffer.begin > buffer.end) // unused
        continue;
      const int64_t first = buffer.role == exec::Role::Input ? -1 : firstOf(buffer.begin);
      const int64_t last = buffer.end == programEnd ? numbers.size() : firstOf(buffer.end + 1) - 1;
      if (first <= last)
        buffers.push_back(
            exec::BufferAttr::get(plan.getContext(), buffer.role, builder.getStringAttr(buffer.owner),
                                  exec::RangeAttr::get(plan.getContext(), builder.getStringAttr(exec::kArenaName),
                                                       buffer.offset, buffer.bytes),
                                  first, last));
    }
    plan.setBuffersAttr(builder.getArrayAttr(buffers));
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  LogicalResult lower(Operation *op) {
    if (onlyNames(op) || isa<func::ReturnOp>(op))
      return success();
    if (auto fusion = dyn_cast<nn::FusionOp>(op))
      return lowerFusion(fusion);
    if (auto collective = dyn_cast<ccl::CollectiveOpInterface>(op)) {
      lowerCollective(collective);
      return success();
    }
    if (auto wait = dyn_cast<ccl::WaitOp>(op)) {
      builder.create<exec::WaitOp>(wait.getLoc(), tickets.lookup(wait.getPending().getDefiningOp()));
      return success();
    }
    if (auto read = dyn_cast<ccl::ReadOp>(op)) {
      lowerRead(read);
      return success();
    }
    if (auto assign = dyn_cast<ccl::AssignOp>(op)) {
      int64_t offset = assign.getOffset() * sbp::elementBytes(assign.getValue().getType());
      copyIfElsewhere(assign.getValue(), storagePlace(assign.getStorage(), offset, assign.getValue()));
      return success();
    }
    if (auto pack = dyn_cast<ccl::PackOp>(op)) {
      lowerPack(pack);
      return success();
    }
    if (auto compute = dyn_cast<nn::ComputeOpInterface>(op))
      if (std::optional<nn::LibraryCall> call = traits.libraryCallOf(op)) {
        checkIndices(compute, [](Value operand) { return operand; });
        SmallVector<Attribute> outputs(rangesOf(op->getResults()).getValue());
        if (std::optional<Place> workspace = assignment.workspaceOf(op))
          outputs.push_back(rangeOf(*workspace));
        builder.create<exec::LibraryOp>(op->getLoc(), call->call, rangesOf(op->getOperands()),
                                        builder.getArrayAttr(outputs));
        return success();
      }
    return op->emitOpError() << "is in no fusion and no library call; run 'nn-fuse-kernels'";
  }

  /// Kernels do not check indices that come from outside, so each tensor of
  /// indices is checked once, before its first use.
  void checkIndices(nn::ComputeOpInterface op, function_ref<Value(Value)> outside) {
    for (nn::IndexOperand index : op.getIndexOperands()) {
      Value operand = outside(op->getOperand(index.operand));
      std::pair<int64_t, int64_t> allowed = {index.places, index.ignored.value_or(0)};
      if (!operand || !checked.insert({operand, allowed}).second)
        continue;
      auto type = cast<RankedTensorType>(operand.getType());
      auto call = exec::CheckIndicesAttr::get(builder.getContext(), type.getNumElements(), index.places,
                                              type.getElementType(), index.ignored, op->getName().getStringRef());
      builder.create<exec::LibraryOp>(op->getLoc(), call, rangesOf(operand), builder.getArrayAttr({}));
    }
  }

  LogicalResult lowerFusion(nn::FusionOp fusion) {
    if (fusion.getNumResults() == 0)
      return success();
    Block &body = fusion.getBody().front();
    for (auto op : body.getOps<nn::ComputeOpInterface>())
      checkIndices(op, [&](Value operand) -> Value {
        auto argument = dyn_cast<BlockArgument>(operand);
        return argument ? fusion.getInputs()[argument.getArgNumber()] : Value();
      });
    SmallVector<int64_t> tied;
    for (unsigned i = 0; i < fusion.getNumResults(); ++i)
      tied.push_back(assignment.tiedOperand(fusion, i));
    SmallVector<Attribute> reads;
    for (auto [index, input] : llvm::enumerate(fusion.getInputs()))
      if (!llvm::is_contained(tied, static_cast<int64_t>(index)))
        reads.push_back(rangeOf(input));
    SmallVector<Attribute> outputs(rangesOf(fusion.getOutputs()).getValue());
    if (std::optional<Place> workspace = assignment.workspaceOf(fusion))
      outputs.push_back(rangeOf(*workspace));
    ArrayAttr writes = builder.getArrayAttr(outputs);
    SmallVector<int64_t> alignments; // relative to the space, which is aligned itself
    for (Attribute range : llvm::concat<const Attribute>(reads, writes.getValue()))
      alignments.push_back(std::gcd(cast<exec::RangeAttr>(range).getOffset(), sbp::kAlignmentBytes));
    FailureOr<StringAttr> kernel = kernels.add(fusion, tied, alignments);
    if (failed(kernel))
      return failure();
    auto symbol = SymbolRefAttr::get(builder.getStringAttr(exec::kKernelsName), {FlatSymbolRefAttr::get(*kernel)});
    SmallVector<int64_t> inPlace;
    for (auto [number, operand] : llvm::enumerate(tied))
      if (operand >= 0)
        inPlace.push_back(number);
    builder.create<exec::LaunchOp>(fusion.getLoc(), symbol, builder.getArrayAttr(reads), writes, inPlace);
    return success();
  }

  Place storagePlace(StringRef name, int64_t offset, Value like) {
    return {assignment.bufferOf(name), offset, assignment.placeOf(like).bytes};
  }

  void lowerRead(ccl::ReadOp read) {
    if (!assignment.readIsCopied(read))
      return;
    Place place = assignment.placeOf(read.getResult());
    builder.create<exec::CopyOp>(read.getLoc(), layout.rangeOf(read.getStorage(), 0, place.bytes), rangeOf(place));
  }

  /// Copies the operands that were not made in place, and clears the bytes that
  /// belong to no operand.
  void lowerPack(ccl::PackOp pack) {
    Place whole = assignment.placeOf(pack.getResult());
    int64_t element = sbp::elementBytes(pack.getResult().getType()), end = 0;
    auto clear = [&](int64_t from, int64_t to) {
      if (from < to)
        builder.create<exec::ClearOp>(pack.getLoc(), rangeOf(Place{whole.buffer, whole.offset + from, to - from}));
    };
    for (auto [input, offset] : llvm::zip(pack.getInputs(), pack.getOffsets())) {
      int64_t at = offset * element, bytes = assignment.placeOf(input).bytes;
      clear(end, at);
      copyIfElsewhere(input, {whole.buffer, whole.offset + at, bytes});
      end = at + bytes;
    }
    clear(end, whole.bytes);
  }

  void lowerCollective(ccl::CollectiveOpInterface op) {
    const ccl::CollectiveCall call = callOf(op);
    Place data = assignment.collectiveData(op);
    exec::RangeAttr output;
    switch (call.rule().memory) {
    case ccl::Memory::InResult:
      copyIfElsewhere(op.getInput(), {data.buffer, data.offset + call.bytesBefore(), call.bytes(ccl::Part::OwnBlock)});
      break;
    case ccl::Memory::InBoth:
      copyIfElsewhere(op.getInput(), data);
      break;
    case ccl::Memory::InOperand: // the sum's block is moved out, or stays (SumsInPlace.h)
      copyIfElsewhere(op.getInput(), data);
      output = rangeOf(waitOf(op).getResult());
      break;
    case ccl::Memory::Apart:
      output = rangeOf(data);
      data = assignment.placeOf(op.getInput());
      break;
    }
    std::optional<Place> workspace = assignment.workspaceOf(op);
    tickets[op] = nextTicket;
    auto received = op.getReceived() ? builder.getDenseI64ArrayAttr(*op.getReceived()) : DenseI64ArrayAttr();
    builder.create<exec::CollectiveOp>(
        op.getLoc(), exec::CollectiveKindAttr::get(builder.getContext(), call.kind),
        builder.getStringAttr(op.getWhat()), rangeOf(data), output, workspace ? rangeOf(*workspace) : exec::RangeAttr(),
        groups.add(op.getGroup(), op.getLoc()), builder.getDenseI64ArrayAttr(call.blocks), received,
        TypeAttr::get(op.getInput().getType().getElementType()), builder.getI64IntegerAttr(nextTicket++),
        builder.getStringAttr(call.rule().adds ? traits.sumStream : traits.moveStream));
  }

  func::FuncOp function;
  const DeviceTraits &traits;
  BufferAssignment assignment;
  const StorageLayout &layout;
  KernelTable &kernels;
  GroupTable &groups;
  OpBuilder &builder;
  DenseSet<std::pair<Value, std::pair<int64_t, int64_t>>> checked;
  DenseMap<Operation *, int64_t> tickets;
  int64_t nextTicket = 0;
};

struct LowerToExec : splitcast::impl::LowerToExecPassBase<LowerToExec> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const DeviceTraits traits = deviceTraitsOf(module);
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(verifyLocal(function)) || failed(verifyHaveKernels(function, traits)) ||
          failed(verifyGlobalTypes(function)) || failed(verifySizes(function)))
        return signalPassFailure();
    FailureOr<StorageLayout> layout = StorageLayout::create(module);
    if (failed(layout))
      return signalPassFailure();
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernelModule = builder.create<ModuleOp>(module.getLoc(), exec::kKernelsName);
    KernelTable kernels(kernelModule, kernelEmitterOf(traits).emit);
    GroupTable groups(module);
    int64_t arenaBytes = 0;
    for (func::FuncOp function : functions) {
      builder.setInsertionPoint(function);
      if (failed(FunctionLowering(function, traits, *layout, kernels, groups, builder).run(arenaBytes)))
        return signalPassFailure();
      function.erase();
    }
    declareSpaces(module, layout->persistentBytes(), arenaBytes);
    for (auto storage : llvm::make_early_inc_range(module.getOps<ccl::StorageOp>()))
      lowerStorage(storage, *layout);
  }

  static void declareSpaces(ModuleOp module, int64_t persistentBytes, int64_t arenaBytes) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    auto declare = [&](StringRef name, int64_t bytes, bool isKept) {
      b.create<exec::SpaceOp>(module.getLoc(), b.getStringAttr(name), nullptr, b.getI64IntegerAttr(bytes),
                              isKept ? b.getUnitAttr() : UnitAttr(), FlatSymbolRefAttr());
    };
    declare(exec::kPersistentName, persistentBytes, true);
    declare(exec::kArenaName, arenaBytes, false);
  }

  static LogicalResult verifyHaveKernels(func::FuncOp function, const DeviceTraits &traits) {
    for (auto op : function.getBody().front().getOps<nn::ComputeOpInterface>())
      if (!isa<nn::ReshapeOp>(op.getOperation()) && !traits.libraryCallOf(op))
        return op.emitOpError() << "is in no fusion and no library call; run 'nn-fuse-kernels'";
    return success();
  }

  /// Checks that the bytes of each tensor fit into an int64_t. Their sums are
  /// checked where they are laid out.
  static LogicalResult verifySizes(func::FuncOp function) {
    auto verify = [](Operation *op, TypeRange types) -> LogicalResult {
      for (Type type : types) {
        auto pending = dyn_cast<ccl::PendingType>(type);
        auto tensor = pending ? pending.getTensor() : dyn_cast<RankedTensorType>(type);
        if (tensor && !sbp::checkedBytes(sbp::shapeOf(tensor), sbp::elementBytes(tensor)))
          return op->emitOpError() << "has a tensor of type " << tensor << ", which is more than "
                                   << sbp::kMostBytesText << "; use more ranks, or smaller tensors";
      }
      return success();
    };
    for (Operation &op : function.getBody().front())
      if (failed(verify(&op, TypeRange(op.getResultTypes()))))
        return failure();
    return verify(function, function.getArgumentTypes());
  }

  /// Checks that arguments and results have global types, which a plan keeps
  /// for callers that bind inputs and outputs.
  static LogicalResult verifyGlobalTypes(func::FuncOp function) {
    auto isTensor = [](TypeAttr type) { return type && isa<RankedTensorType>(type.getValue()); };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (!isTensor(function.getArgAttrOfType<TypeAttr>(i, "ccl.global")))
        return function.emitOpError() << "has an argument without ccl.global, its global type; run 'sbp-localize'";
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!isTensor(function.getResultAttrOfType<TypeAttr>(i, "ccl.global")))
        return function.emitOpError() << "has a result without ccl.global, its global type; run 'sbp-localize'";
    return success();
  }

  static void lowerStorage(ccl::StorageOp storage, const StorageLayout &layout) {
    OpBuilder b(storage);
    RankedTensorType type = storage.getTensorType();
    const exec::RangeAttr range =
        layout.rangeOf(storage.getSymName(), 0, type.getNumElements() * sbp::elementBytes(type));
    b.create<exec::StorageOp>(storage.getLoc(), storage.getSymNameAttr(), nullptr, storage.getTypeAttr(), range,
                              storage.getMembersAttr(), storage.getOffsetsAttr());
    storage.erase();
  }
};

} // namespace
