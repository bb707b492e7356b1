// Verifies that all ranks call the same collectives in the same order.
//
// The calls of each rank are listed by the group of ranks that they are for.
// What the members of a group must agree on (op, name, ranks, element type,
// blocks) is a text, and the list of each member is compared with that of the
// first member, line by line. In an all-to-all, each block that one member
// sends is also compared with what the other receives.
//
//   rank 0   [0, 1]: all_gather "w" blocks [12, 8]     all_reduce "loss"
//   rank 1   [0, 1]: all_reduce "loss"                 all_gather "w" blocks [12, 8]     error: collective 0 differs
#include "passes/local/Passes.h"

#include <map>
#include <set>

using namespace mlir;
using namespace splitcast;

namespace {

/// A call, with what the members of its group must agree on as text: everything
/// but the index and the piece of the rank.
struct Call {
  ccl::CollectiveOpInterface op;
  std::string agreed;
};

/// Returns the calls of one function, by group.
std::map<std::vector<int64_t>, std::vector<Call>> callsOf(func::FuncOp function) {
  std::map<std::vector<int64_t>, std::vector<Call>> calls;
  function.walk([&](ccl::CollectiveOpInterface op) {
    Call call{op, {}};
    llvm::raw_string_ostream os(call.agreed);
    auto list = [&](StringRef name, ArrayRef<int64_t> numbers) {
      llvm::interleaveComma(numbers, os << " " << name << " [");
      os << "]";
    };
    os << op->getName() << " \"" << op.getWhat() << "\"";
    list("ranks", op.getGroup().getRanks());
    os << " elements " << op.getInput().getType().getElementType();
    if (!op.getReceived()) // the blocks of an all-to-all differ from rank to rank
      list("blocks", callOf(op).blocksByRank());
    os.flush();
    calls[op.getGroup().getRanks().vec()].push_back(call);
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
    Operation *at = i < mine.size() ? static_cast<Operation *>(mine[i].op) : function.getOperation();
    return at->emitError() << "rank " << rank << " calls, as collective " << i << " of @" << function.getName()
                           << " in its group:\n  " << here << "\nwhere rank " << firstRank << " calls:\n  " << there;
  }
  return success();
}

using CallsByGroup = std::map<std::vector<int64_t>, std::vector<Call>>;

/// A function in the program of one rank, with its calls.
struct RankFunction {
  func::FuncOp function;
  CallsByGroup calls;
};

/// Verifies, block by block, that each member of an all-to-all receives what
/// the others send to it.
LogicalResult compareExchanges(const std::vector<int64_t> &group, std::map<int64_t, RankFunction> &ranks, size_t call) {
  auto opOf = [&](size_t member) { return ranks[group[member]].calls[group][call].op; };
  std::vector<std::vector<int64_t>> sends, receives;
  for (size_t member = 0; member < group.size(); ++member) {
    sends.push_back(callOf(opOf(member)).blocksByRank());
    receives.push_back(callOf(opOf(member)).receivedByRank());
  }
  for (size_t from = 0; from < group.size(); ++from)
    for (size_t to = 0; to < group.size(); ++to) {
      int64_t sent = sends[from][to], received = receives[to][from];
      if (sent != received)
        return opOf(to)->emitError() << "rank " << group[to] << " receives " << received << " elements where rank "
                                     << group[from] << " sends " << sent;
    }
  return success();
}

LogicalResult compareMembers(const std::vector<int64_t> &group, std::map<int64_t, RankFunction> &ranks) {
  for (int64_t rank : group) {
    if (!ranks.count(rank))
      continue;
    int64_t firstRank = group.front();
    if (failed(compareGroup(ranks[rank].calls[group], ranks[firstRank].calls[group], rank, firstRank,
                            ranks[rank].function)))
      return failure();
  }
  for (size_t call = 0; call < ranks[group.front()].calls[group].size(); ++call)
    if (ranks[group.front()].calls[group][call].op.getReceived() && failed(compareExchanges(group, ranks, call)))
      return failure();
  return success();
}

int64_t rankOf(ModuleOp module, int64_t index) {
  auto rank = module->getAttrOfType<IntegerAttr>("ccl.rank");
  return rank ? rank.getInt() : index;
}

} // namespace

LogicalResult splitcast::verifyCollectiveSequence(ArrayRef<ModuleOp> modules) {
  ModuleOp first = modules.front();
  for (auto function : first.getOps<func::FuncOp>()) {
    std::map<int64_t, RankFunction> ranks;
    std::set<std::vector<int64_t>> groups;
    for (size_t index = 0; index < modules.size(); ++index) {
      ModuleOp module = modules[index];
      int64_t rank = rankOf(module, index);
      auto own = module.lookupSymbol<func::FuncOp>(function.getName());
      if (!own)
        return module.emitError() << "rank " << rank << " has no function @" << function.getName() << ", which rank "
                                  << rankOf(first, 0) << " has";
      ranks[rank] = {own, callsOf(own)};
      for (auto &[group, calls] : ranks[rank].calls) {
        if (!llvm::is_contained(group, rank))
          return calls.front().op->emitError() << "rank " << rank << " calls a collective of a group that it is not in";
        groups.insert(group);
      }
    }
    for (const std::vector<int64_t> &group : groups)
      if (failed(compareMembers(group, ranks)))
        return failure();
  }
  return success();
}
