// Do all ranks call the same collectives in the same order?
#include "passes/local/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace {

/// What members of a group must agree on, as text: all but the rank's own index and its own piece.
struct Call {
  Operation *op;
  std::string agreed;
};

bool isCollective(Operation *op) {
  return llvm::any_of(op->getResultTypes(), [](Type type) { return isa<ccl::PendingType>(type); });
}

/// The calls of one function, by group.
std::map<std::vector<int64_t>, std::vector<Call>> callsOf(func::FuncOp function) {
  std::map<std::vector<int64_t>, std::vector<Call>> calls;
  function.walk([&](Operation *op) {
    if (!isCollective(op))
      return;
    Call call{op, {}};
    llvm::raw_string_ostream os(call.agreed);
    os << op->getName() << " " << op->getAttr("what") << " ranks " << op->getAttr("ranks") << " elements "
       << getElementTypeOrSelf(op->getOperand(0).getType());
    if (!op->hasAttr("received")) // blocks of an all-to-all differ from rank to rank
      os << " blocks " << op->getAttr("blocks");
    os.flush();
    calls[op->getAttrOfType<DenseI64ArrayAttr>("ranks").asArrayRef().vec()].push_back(call);
  });
  return calls;
}

LogicalResult compareGroup(const std::vector<Call> &mine, const std::vector<Call> &first, int64_t rank,
                           int64_t firstRank, func::FuncOp function) {
  for (size_t i = 0; i < std::max(mine.size(), first.size()); ++i) {
    std::string here = i < mine.size() ? mine[i].agreed : "nothing",
                there = i < first.size() ? first[i].agreed : "nothing";
    if (here == there)
      continue;
    Operation *at = i < mine.size() ? mine[i].op : function.getOperation();
    return at->emitError() << "rank " << rank << " calls, as collective " << i << " of @" << function.getName()
                           << " in its group:\n  " << here << "\nwhere rank " << firstRank << " calls:\n  " << there;
  }
  return success();
}

} // namespace

LogicalResult splitcast::verifyCollectiveSequence(ArrayRef<ModuleOp> modules) {
  ModuleOp first = modules.front();
  for (auto function : first.getOps<func::FuncOp>()) {
    std::map<std::vector<int64_t>, std::pair<int64_t, std::vector<Call>>> firstOf;
    for (size_t rank = 0; rank < modules.size(); ++rank) {
      ModuleOp module = modules[rank];
      auto own = module.lookupSymbol<func::FuncOp>(function.getName());
      if (!own)
        return module.emitError() << "rank " << rank << " has no function @" << function.getName()
                                  << ", which rank 0 has";
      for (auto &[group, calls] : callsOf(own)) {
        if (!llvm::is_contained(group, static_cast<int64_t>(rank)))
          return calls.front().op->emitError() << "rank " << rank << " calls a collective of a group that it is not in";
        auto [known, isNew] = firstOf.try_emplace(group, rank, calls);
        if (!isNew && failed(compareGroup(calls, known->second.second, rank, known->second.first, own)))
          return failure();
      }
    }
  }
  return success();
}
