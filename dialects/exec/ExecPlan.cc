// Verifies that the ranges of a plan fit its inputs, outputs and spaces, and
// that its collectives are waited for.
#include "dialects/exec/Exec.h"
#include "dialects/sbp/algebra/Sizes.h"

#include <map>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

namespace {

/// Counts how many ranges cover each byte of the spaces. Per space, a map has
/// the bytes at which the count changes, with the count from there on.
class ByteCounts {
public:
  void add(RangeAttr range, int64_t count) {
    if (range.getBytes() == 0)
      return;
    std::map<int64_t, int64_t> &ofSpace = counts.try_emplace(range.getSpace(), Counts{{-1, 0}}).first->second;
    const auto begin = beginAt(ofSpace, range.getOffset()), end = beginAt(ofSpace, range.getEnd());
    for (auto at = begin; at != end; ++at)
      at->second += count;
    for (auto at : {begin, end})
      if (std::prev(at)->second == at->second)
        ofSpace.erase(at);
  }

  bool overlaps(RangeAttr range) const {
    auto known = counts.find(range.getSpace());
    if (known == counts.end() || range.getBytes() == 0)
      return false;
    auto at = std::prev(known->second.upper_bound(range.getOffset()));
    for (; at != known->second.end() && at->first < range.getEnd(); ++at)
      if (at->second > 0)
        return true;
    return false;
  }

private:
  using Counts = std::map<int64_t, int64_t>;

  static Counts::iterator beginAt(Counts &ofSpace, int64_t byte) {
    auto after = ofSpace.upper_bound(byte);
    return ofSpace.emplace_hint(after, byte, std::prev(after)->second);
  }

  DenseMap<StringAttr, Counts> counts;
};

/// Verifies C1 and C2: walks through a plan and keeps track of the collectives
/// that are under way.
class PlanVerifier {
public:
  PlanVerifier(PlanOp plan, const Spaces &spaces) : plan(plan), spaces(spaces) {}

  LogicalResult run() {
    if (failed(verifyInterface("inputs", plan.getInputs(), plan.getInputTypes(), plan.getInputNames())) ||
        failed(verifyInterface("outputs", plan.getOutputs(), plan.getOutputTypes(), plan.getOutputNames())))
      return failure();
    for (Operation &op : plan.getBody().front())
      if (failed(verifyRanges(&op)) || failed(verifyUnderWay(&op)) || failed(follow(&op)))
        return failure();
    if (!underWay.empty())
      return underWay.begin()->second.emitOpError() << "is never waited for; end it with exec.wait";
    return success();
  }

private:
  LogicalResult verifyInterface(StringRef what, ArrayAttr ranges, ArrayAttr types, ArrayAttr names) {
    if (ranges.size() != types.size() || ranges.size() != names.size())
      return plan.emitOpError() << "has " << ranges.size() << " " << what << ", " << types.size() << " types and "
                                << names.size() << " names of them; give one of each";
    for (Type type : types.getAsValueRange<TypeAttr>())
      if (!isa<RankedTensorType>(type))
        return plan.emitOpError() << "has " << type << " among its " << what << "; they must be ranked tensors";
    for (auto [type, range, name] : llvm::zip(types.getAsValueRange<TypeAttr>(), ranges.getAsRange<RangeAttr>(), names))
      if (RankedTensorType piece = pieceOf(plan, cast<RankedTensorType>(type)))
        if (sbp::checkedBytes(sbp::shapeOf(piece), sbp::elementBytes(piece)) != range.getBytes())
          return plan.emitOpError() << "has " << name << " of " << type << " in " << range << " among its " << what
                                    << ", but this rank's piece is " << piece << "; give it as many bytes";
    return verifyWithin(spaces, plan, llvm::to_vector(ranges.getAsRange<RangeAttr>()));
  }

  LogicalResult verifyRanges(Operation *op) {
    SmallVector<RangeAttr> ranges;
    rangesOf(op, ranges, ranges);
    return verifyWithin(spaces, op, ranges);
  }

  LogicalResult verifyUnderWay(Operation *op) {
    SmallVector<RangeAttr> reads, writes;
    rangesOf(op, reads, writes);
    for (RangeAttr range : reads)
      if (busyWrites.overlaps(range))
        return emitClash(op, range, /*isWrite=*/false);
    for (RangeAttr range : writes)
      if (busyWrites.overlaps(range) || busyReads.overlaps(range))
        return emitClash(op, range, /*isWrite=*/true);
    return success();
  }

  LogicalResult emitClash(Operation *op, RangeAttr range, bool isWrite) {
    SmallVector<RangeAttr> reads, busy;
    for (auto &[ticket, collective] : underWay)
      rangesOf(collective, reads, busy);
    if (isWrite)
      llvm::append_range(busy, reads);
    const RangeAttr *other = llvm::find_if(busy, [&](RangeAttr other) { return range.overlaps(other); });
    return op->emitOpError() << "uses " << range << " while a collective is under way on " << *other
                             << "; wait for it first";
  }

  LogicalResult follow(Operation *op) {
    if (auto collective = dyn_cast<CollectiveOp>(op)) {
      if (!underWay.try_emplace(collective.getTicket(), collective).second)
        return op->emitOpError() << "takes ticket " << collective.getTicket()
                                 << ", which is under way; wait for it first, or take another ticket";
      count(collective, 1);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      auto ended = underWay.find(wait.getTicket());
      if (ended == underWay.end())
        return op->emitOpError() << "waits for ticket " << wait.getTicket()
                                 << ", which is not under way; start a collective with it first";
      count(ended->second, -1);
      underWay.erase(ended);
    }
    return success();
  }

  void count(CollectiveOp collective, int64_t times) {
    SmallVector<RangeAttr> reads, writes;
    rangesOf(collective, reads, writes);
    for (RangeAttr range : reads)
      busyReads.add(range, times);
    for (RangeAttr range : writes)
      busyWrites.add(range, times);
  }

  PlanOp plan;
  const Spaces &spaces;
  std::map<int64_t, CollectiveOp> underWay;
  ByteCounts busyReads, busyWrites; ///< of collectives that are under way
};

} // namespace

static SmallVector<Type> typesOf(ArrayAttr types) {
  return llvm::map_to_vector(types.getAsRange<TypeAttr>(), [](TypeAttr type) { return type.getValue(); });
}

SmallVector<Type> PlanOp::getRunInputs() { return typesOf(getInputTypes()); }

SmallVector<Type> PlanOp::getRunResults() { return typesOf(getOutputTypes()); }

LogicalResult PlanOp::verifySymbolUses(SymbolTableCollection &symbols) {
  const Spaces spaces(*this, symbols);
  return success(succeeded(PlanVerifier(*this, spaces).run()) && succeeded(verifyBuffers(*this, spaces)) &&
                 succeeded(verifyCarried(*this, symbols)));
}
