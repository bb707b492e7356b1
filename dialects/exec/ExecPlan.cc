// What a plan may do with its ranges.
#include "dialects/exec/Exec.h"

#include <map>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

namespace {

/// Bytes of spaces, as the fewest intervals.
class ByteSet {
public:
  void add(RangeAttr range) {
    if (range.getBytes() == 0)
      return;
    std::map<int64_t, int64_t> &intervals = ends[range.getSpace()];
    int64_t begin = range.getOffset(), end = range.getEnd();
    auto next = intervals.upper_bound(begin);
    if (next != intervals.begin() && std::prev(next)->second >= begin)
      begin = std::prev(next)->first;
    for (next = intervals.lower_bound(begin); next != intervals.end() && next->first <= end;
         next = intervals.erase(next))
      end = std::max(end, next->second);
    intervals[begin] = end;
  }

  /// All bytes of a range; an empty one has none to miss.
  bool contains(RangeAttr range) const {
    auto known = ends.find(range.getSpace());
    if (range.getBytes() == 0)
      return true;
    if (known == ends.end())
      return false;
    auto next = known->second.upper_bound(range.getOffset());
    return next != known->second.begin() && std::prev(next)->second >= range.getEnd();
  }

  bool overlaps(RangeAttr range) const {
    auto known = ends.find(range.getSpace());
    if (known == ends.end() || range.getBytes() == 0)
      return false;
    auto next = known->second.lower_bound(range.getEnd());
    return next != known->second.begin() && std::prev(next)->second > range.getOffset();
  }

private:
  DenseMap<StringAttr, std::map<int64_t, int64_t>> ends; ///< by space, then by begin
};

/// How many ranges there are on each byte of the spaces: where a count begins to hold, up to the next.
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

/// Follows the collectives under way through a plan.
class PlanVerifier {
public:
  PlanVerifier(PlanOp plan, const Spaces &spaces) : plan(plan), spaces(spaces) {}

  LogicalResult run() {
    if (failed(verifyInterface("inputs", plan.getInputs(), plan.getInputTypes(), plan.getInputNames())) ||
        failed(verifyInterface("outputs", plan.getOutputs(), plan.getOutputTypes(), plan.getOutputNames())))
      return failure();
    int64_t ops = 0;
    for (Operation &op : plan.getBody().front()) {
      if (failed(verifyRanges(&op)) || failed(verifyUnderWay(&op)) || failed(follow(&op)))
        return failure();
      if (++ops == static_cast<int64_t>(plan.getHeldOps()) && !underWay.empty())
        return underWay.begin()->second.emitOpError()
               << "is under way at the end of the " << ops << " ops that are held; wait for it among them";
    }
    if (!underWay.empty())
      return underWay.begin()->second.emitOpError() << "is never waited for; end it with exec.wait";
    return verifyHeld();
  }

private:
  LogicalResult verifyInterface(StringRef what, ArrayAttr ranges, ArrayAttr types, ArrayAttr names) {
    if (ranges.size() != types.size() || ranges.size() != names.size())
      return plan.emitOpError() << "has " << ranges.size() << " " << what << ", " << types.size() << " types and "
                                << names.size() << " names of them; give one of each";
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

  LogicalResult verifyHeld() {
    int64_t heldOps = plan.getHeldOps(), ops = llvm::range_size(plan.getBody().front());
    if (heldOps < 0 || heldOps > ops)
      return plan.emitOpError() << "holds " << heldOps << " of its " << ops << " ops; hold none to all";
    if (heldOps == 0)
      return success();
    ByteSet held;
    int64_t index = 0;
    for (Operation &op : plan.getBody().front()) {
      SmallVector<RangeAttr> reads, writes;
      rangesOf(&op, reads, writes);
      bool isHeld = index++ < heldOps;
      for (RangeAttr range : writes)
        if (spaces.keeps(range) || (!isHeld && held.overlaps(range)))
          return op.emitOpError() << "writes " << range << ", which the plan holds between runs; write elsewhere";
      if (!isHeld)
        continue;
      if (auto launch = dyn_cast<LaunchOp>(op))
        for (int64_t number : launch.getInPlace())
          reads.push_back(writes[number]);
      for (RangeAttr range : reads)
        if (!spaces.keeps(range) && !held.contains(range))
          return op.emitOpError() << "is held, but reads " << range
                                  << ", which is neither kept nor written by an earlier held op";
      llvm::for_each(writes, [&](RangeAttr range) { held.add(range); });
    }
    for (auto [range, name] : llvm::zip(plan.getInputs().getAsRange<RangeAttr>(), plan.getInputNames()))
      if (held.overlaps(range))
        return plan.emitOpError() << "has input " << name << " in " << range
                                  << ", where it holds what a held op wrote; inputs are set before every run, so give "
                                     "it a place of its own";
    return success();
  }

  LogicalResult follow(Operation *op) {
    if (auto collective = dyn_cast<CollectiveOp>(op)) {
      if (!underWay.try_emplace(collective.getTicket(), collective).second)
        return op->emitOpError() << "takes ticket " << collective.getTicket() << ", which is under way";
      count(collective, 1);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      auto ended = underWay.find(wait.getTicket());
      if (ended == underWay.end())
        return op->emitOpError() << "waits for ticket " << wait.getTicket() << ", which is not under way";
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
  ByteCounts busyReads, busyWrites; ///< of what is under way
};

} // namespace

static SmallVector<Type> typesOf(ArrayAttr types) {
  return llvm::map_to_vector(types.getAsRange<TypeAttr>(), [](TypeAttr type) { return type.getValue(); });
}

SmallVector<Type> PlanOp::getRunInputs() { return typesOf(getInputTypes()); }

SmallVector<Type> PlanOp::getRunResults() { return typesOf(getOutputTypes()); }

LogicalResult PlanOp::verifySymbolUses(SymbolTableCollection &) {
  const Spaces spaces((*this)->getParentOfType<ModuleOp>());
  return success(succeeded(PlanVerifier(*this, spaces).run()) && succeeded(verifyBuffers(*this, spaces)));
}
