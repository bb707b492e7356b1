// Verifies sbp.schedule and sbp.run: what the runs take and give fits their
// functions, and together makes the inputs and results of the schedule.
#include "dialects/sbp/Sbp.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace splitcast::sbp;

namespace {

/// How a run takes an input, or gives a result.
struct Port {
  int64_t number = -1; ///< of the input or result of the schedule
  int64_t ahead = 0;   ///< how many micro-batches the part is ahead of that of the run
  int64_t dim = -1;    ///< the dimension along which micro-batches are parts; -1: the whole tensor
  Type type;           ///< of the argument or result of the function
};

/// Verifies a schedule run by run, and collects what the runs take and give.
class ScheduleVerifier {
public:
  ScheduleVerifier(ScheduleOp schedule, SymbolTableCollection &symbols) : schedule(schedule), symbols(symbols) {}

  LogicalResult run() {
    Block &body = schedule.getBody().front();
    if (microBatches() < 1 || microBatches() > kMostMicroBatches || body.empty())
      return schedule.emitOpError() << "@" << schedule.getSymName() << " has " << microBatches()
                                    << " micro-batches and " << llvm::range_size(body)
                                    << " runs; it must have at least one of each, and at most " << kMostMicroBatches
                                    << " micro-batches";
    for (Operation &op : body) {
      auto each = dyn_cast<RunOp>(op);
      if (!each)
        return op.emitOpError() << "stands in @" << schedule.getSymName() << ", which holds sbp.run only";
      if (failed(verify(each)))
        return failure();
    }
    return success(succeeded(verifyNumbers("input", inputs.size(), inputs)) &&
                   succeeded(verifyNumbers("result", results.size(), results)) && succeeded(verifyGiven()));
  }

private:
  struct Signature {
    SmallVector<Type> inputs, results;
  };

  LogicalResult verify(RunOp op) {
    std::optional<Signature> function = signatureOf(symbols.lookupNearestSymbolFrom(op, op.getFunctionAttr()));
    if (!function)
      return op.emitOpError() << "runs @" << op.getFunction() << ", which the module does not have; name a function";
    const auto begin = static_cast<int64_t>(op.getBegin()), end = static_cast<int64_t>(op.getEnd());
    if (begin < 0 || begin >= end || end > microBatches())
      return op.emitOpError() << "runs from " << begin << " to " << end << " of " << microBatches()
                              << " micro-batches; give a range of them that is not empty";
    SmallVector<Type> taken = function->inputs;
    if (op.getNumbered() && (taken.empty() || !isNumber(taken.pop_back_val())))
      return op.emitOpError() << "is numbered, but @" << op.getFunction()
                              << " takes no i64 scalar as its last argument; add one";
    return success(
        succeeded(verifyPorts(op, "takes", "cut", taken, op.getTakes(), op.getCuts(), op.getTakesAhead(), inputs)) &&
        succeeded(verifyPorts(op, "gives", "joined", function->results, op.getGives(), op.getJoins(),
                              op.getGivesAhead(), results)) &&
        succeeded(verifyKept(op, *function)));
  }

  static LogicalResult verifyKept(RunOp op, const Signature &function) {
    const int64_t times = op.getEnd() - op.getBegin();
    if (!op.getKept() || (function.inputs.empty() && function.results.empty() && times == 1))
      return success();
    return op.emitOpError() << "is kept, but @" << op.getFunction() << " takes " << function.inputs.size()
                            << " input(s) and gives " << function.results.size() << " result(s), in " << times
                            << " run(s); a kept run must take and give nothing, and run once";
  }

  /// Returns nothing if the symbol is no function.
  static std::optional<Signature> signatureOf(Operation *symbol) {
    if (auto function = dyn_cast_or_null<func::FuncOp>(symbol))
      return Signature{llvm::to_vector(function.getArgumentTypes()), llvm::to_vector(function.getResultTypes())};
    if (auto runnable = dyn_cast_or_null<RunnableOpInterface>(symbol))
      return Signature{runnable.getRunInputs(), runnable.getRunResults()};
    return std::nullopt;
  }

  static bool isNumber(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 && tensor.getElementType().isInteger(64);
  }

  LogicalResult verifyPorts(RunOp op, StringRef verb, StringRef part, TypeRange types, ArrayRef<int64_t> numbers,
                            ArrayRef<int64_t> dims, ArrayRef<int64_t> ahead,
                            std::map<int64_t, SmallVector<std::pair<RunOp, Port>>> &ports) {
    if (numbers.size() != types.size() || dims.size() != types.size())
      return op.emitOpError() << verb << " " << numbers.size() << " value(s) and says how " << dims.size() << " are "
                              << part << ", but @" << op.getFunction() << " " << verb << " " << types.size()
                              << "; give a number and a dimension for each";
    if (!ahead.empty() && ahead.size() != types.size())
      return op.emitOpError() << verb << " " << types.size() << " value(s) and says of " << ahead.size()
                              << " how far ahead they are; say it of all, or of none";
    for (auto [index, type, number, dim] : llvm::enumerate(types, numbers, dims)) {
      const int64_t offset = ahead.empty() ? 0 : ahead[index];
      if (offset < 0 || offset > microBatches() - static_cast<int64_t>(op.getEnd()) || (dim < 0 && offset != 0))
        return op.emitOpError() << verb << " " << number << ", " << part << ", " << offset
                                << " micro-batches ahead of its own, which end before " << op.getEnd() << " of "
                                << microBatches()
                                << "; the part must be one of these micro-batches, and a whole value must be 0 ahead";
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (dim < -1 || (tensor && dim >= tensor.getRank()) || !tensor)
        return op.emitOpError() << verb << " " << type << " " << part << " along dimension " << dim
                                << "; give a dimension of it, or -1 for all of it";
      if (dim >= 0 && !checkedProduct(checkedBytes(shapeOf(type), elementBytes(type)).value_or(0), microBatches()))
        return op.emitOpError() << verb << " " << type << ", which in " << microBatches()
                                << " micro-batches is more than " << kMostBytesText << "; make it smaller";
      ports[number].push_back({op, {number, offset, dim, type}});
    }
    return success();
  }

  LogicalResult verifyNumbers(StringRef what, size_t count,
                              const std::map<int64_t, SmallVector<std::pair<RunOp, Port>>> &ports) {
    int64_t next = 0;
    for (const auto &[number, uses] : ports) {
      if (number != next++)
        return uses.front().first->emitOpError()
               << "names " << what << " " << number << " of the schedule, but no run names " << next - 1
               << "; number them from 0 without a gap";
      const Port &first = uses.front().second;
      for (auto [op, port] : uses)
        if (port.type != first.type || port.dim != first.dim)
          return op->emitOpError() << "has " << what << " " << number << " as " << port.type << " along dimension "
                                   << port.dim << ", and another run as " << first.type << " along " << first.dim
                                   << "; all runs must have it in the same way";
    }
    return success();
  }

  /// Verifies that each result is given once, or, if it is joined, once for
  /// each micro-batch.
  LogicalResult verifyGiven() {
    for (auto &[number, uses] : results) {
      if (uses.front().second.dim < 0) {
        if (uses.size() != 1 || uses.front().first.getEnd() - uses.front().first.getBegin() != 1)
          return uses.back().first.emitOpError()
                 << "gives result " << number << ", which is not joined, more than once; join it, or give it once";
        continue;
      }
      auto beginOf = [](const std::pair<RunOp, Port> &use) {
        return static_cast<int64_t>(RunOp(use.first).getBegin()) + use.second.ahead;
      };
      llvm::sort(uses, [&](const auto &a, const auto &b) { return beginOf(a) < beginOf(b); });
      int64_t next = 0;
      for (auto &use : uses) {
        RunOp op = use.first;
        if (beginOf(use) != next)
          return op.emitOpError() << "gives result " << number << " for micro-batches from " << beginOf(use)
                                  << " on, but the next one without it is " << next << "; give each once";
        next += op.getEnd() - op.getBegin();
      }
      if (next != microBatches())
        return schedule.emitOpError() << "@" << schedule.getSymName() << " is given result " << number << " for "
                                      << next << " of " << microBatches() << " micro-batches; give it for each";
    }
    return success();
  }

  int64_t microBatches() { return static_cast<int64_t>(schedule.getMicroBatches()); }

  ScheduleOp schedule;
  SymbolTableCollection &symbols;
  std::map<int64_t, SmallVector<std::pair<RunOp, Port>>> inputs, results; ///< by number
};

} // namespace

LogicalResult ScheduleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return ScheduleVerifier(*this, symbols).run();
}
