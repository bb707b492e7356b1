#include "dialects/exec/SharedStorages.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Twine.h"

#include <map>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

namespace {

/// A collective of a group in which all ranks meet: none ends it before all
/// have started it.
struct Meeting {
  int64_t start;
  int64_t wait;    ///< the op that waits for it; -1: none has yet
  int64_t ordinal; ///< its number among the group's collectives in the plan
};

struct GroupState {
  int64_t collectives = 0;
  std::vector<Meeting> meetings; ///< by start

  /// Returns the first meeting that starts after op `op`; null if none has
  /// started yet.
  const Meeting *firstBehind(int64_t op) const {
    auto found = llvm::partition_point(meetings, [&](const Meeting &meeting) { return meeting.start <= op; });
    return found == meetings.end() ? nullptr : &*found;
  }
};

/// What a plan has done with a storage so far.
struct StorageState {
  int64_t lastRead = -1;       ///< the last op that read other ranks' blocks or ended a gather; -1: none in this plan
  Operation *writer = nullptr; ///< the first op that has written since then
  bool isWritten() const { return writer != nullptr; }
};

/// Whether no rank can end the collective before all have started it: each
/// needs a block of every other rank.
bool isMeeting(const ccl::CollectiveCall &call) {
  return call.fault().empty() && call.rule().result != ccl::Part::Received &&
         llvm::all_of(call.blocks, [](int64_t block) { return block > 0; });
}

std::string textOf(RangeAttr range) {
  std::string text;
  llvm::raw_string_ostream(text) << range;
  return text;
}

/// Walks through one plan, and notes for each storage the first op that
/// prevents one copy of it.
class PlanWalk {
public:
  using ByOffset = std::map<int64_t, size_t>;

  PlanWalk(PlanOp plan, std::vector<SharedStorage> &storages, const DenseMap<StringAttr, ByOffset> &places,
           SymbolTableCollection &symbols)
      : plan(plan), storages(storages), places(places), symbols(symbols) {}

  void run() {
    for (RangeAttr range : plan.getInputs().getAsRange<RangeAttr>())
      forEachIn(range, [&](size_t i) {
        blame(i, plan, "has an input in " + textOf(range), "let callers write into other bytes");
      });
    for (Operation &op : plan.getBody().front()) {
      visit(&op);
      ++index;
    }
    for (RangeAttr range : plan.getOutputs().getAsRange<RangeAttr>())
      read(plan, range);
    for (auto &[i, state] : states)
      if (state.isWritten())
        blame(i, state.writer, "writes this rank's block and does not gather it", "gather it after that");
  }

private:
  void blame(size_t i, Operation *op, std::string fault, std::string remedy) {
    if (storages[i].faulty)
      return;
    storages[i].faulty = op;
    storages[i].fault = std::move(fault);
    storages[i].remedy = std::move(remedy);
  }

  template <typename Visit> void forEachIn(RangeAttr range, Visit visit) const {
    auto space = places.find(range.getSpace());
    if (space == places.end() || range.getBytes() == 0)
      return;
    auto at = space->second.upper_bound(range.getOffset());
    if (at != space->second.begin() && storages[std::prev(at)->second].gather.getData().overlaps(range))
      --at;
    for (; at != space->second.end() && at->first < range.getEnd(); ++at)
      visit(at->second);
  }

  void visit(Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op))
      return end(wait.getTicket());
    SmallVector<RangeAttr> reads, writes;
    rangesOf(op, reads, writes);
    auto collective = dyn_cast<CollectiveOp>(op);
    if (collective)
      return start(collective, llvm::to_vector(llvm::concat<RangeAttr>(reads, writes)));
    for (RangeAttr range : reads)
      read(op, range);
    for (RangeAttr range : writes)
      forEachIn(range, [&](size_t i) { write(op, range, i); });
  }

  void read(Operation *op, RangeAttr range) {
    forEachIn(range, [&](size_t i) {
      if (storages[i].own.contains(range))
        return; // no other rank writes it
      if (states[i].isWritten())
        blame(i, op, "reads " + textOf(range) + " between the write of a block and its gather",
              "read only this rank's block, " + textOf(storages[i].own) + ", until then");
      states[i].lastRead = index;
    });
  }

  void write(Operation *op, RangeAttr range, size_t i) {
    if (!storages[i].own.contains(range))
      return blame(i, op, "writes " + textOf(range), "write only this rank's block, " + textOf(storages[i].own));
    if (states[i].isWritten())
      return;
    states[i].writer = op;
    requireMeeting(op, i);
  }

  /// Requires that the first meeting after the last read has ended. Returns it;
  /// null if there is none.
  const Meeting *requireMeeting(Operation *op, size_t i) {
    const Meeting *met = groups[storages[i].group.getSymNameAttr()].firstBehind(states[i].lastRead);
    if (!met || met->wait < 0)
      blame(i, op,
            met ? "overwrites bytes that other ranks may read until the collective has ended in which ranks meet "
                  "after the last read"
                : "overwrites bytes that other ranks may still read: ranks meet in no collective after the last read",
            "wait for a collective of @" + storages[i].group.getSymName().str() +
                " in which each rank has a block that is not empty, and which starts after that read");
    return met;
  }

  bool fills(CollectiveOp op, size_t i) const {
    CollectiveOp first = storages[i].gather;
    return op.getKind() == first.getKind() && op.getData() == first.getData() && op.getGroup() == first.getGroup() &&
           op.getBlocks() == first.getBlocks() && op.getType() == first.getType() &&
           op.getStream() == first.getStream();
  }

  void start(CollectiveOp op, ArrayRef<RangeAttr> ranges) {
    for (RangeAttr range : ranges)
      forEachIn(range, [&](size_t i) {
        if (fills(op, i))
          gather(op, i);
        else
          blame(i, op, "works on " + textOf(range),
                "use it only in all-gathers of all of it, with the blocks of the first one");
      });
    GroupState &state = groups[op.getGroupAttr().getAttr()];
    if (GroupOp group = groupOf(op, symbols); group && isMeeting(callOf(op, group))) {
      metBy[op.getTicket()] = {group.getSymNameAttr(), state.meetings.size()};
      state.meetings.push_back({index, -1, state.collectives});
    }
    ++state.collectives;
  }

  void gather(CollectiveOp op, size_t i) {
    const Meeting *met = requireMeeting(op, i); // ranks that wrote nothing must meet, too
    storages[i].meetings +=
        (Twine(plan.getSymName()) + " " + Twine(groups[storages[i].group.getSymNameAttr()].collectives) + " " +
         Twine(met ? met->ordinal : -1) + ";")
            .str();
    states[i].writer = nullptr;
    filledBy[op.getTicket()].push_back(i);
  }

  void end(int64_t ticket) {
    if (auto found = metBy.find(ticket); found != metBy.end()) {
      const auto [group, meeting] = found->second;
      groups[group].meetings[meeting].wait = index;
      metBy.erase(found);
    }
    if (auto found = filledBy.find(ticket); found != filledBy.end()) {
      for (size_t i : found->second)
        states[i].lastRead = index;
      filledBy.erase(found);
    }
  }

  PlanOp plan;
  std::vector<SharedStorage> &storages;
  const DenseMap<StringAttr, ByOffset> &places;
  SymbolTableCollection &symbols;
  std::map<size_t, StorageState> states; ///< of the storages that the plan uses
  DenseMap<StringAttr, GroupState> groups;
  std::map<int64_t, std::pair<StringAttr, size_t>> metBy; ///< meetings under way, by ticket
  std::map<int64_t, std::vector<size_t>> filledBy;        ///< storages whose gather is under way, by ticket
  int64_t index = 0;
};

} // namespace

/// Returns the kept storages that some all-gather fills. Faults are not looked
/// for yet.
static std::vector<SharedStorage> filledStoragesOf(ModuleOp module, SymbolTableCollection &symbols) {
  const Spaces spaces(module);
  llvm::MapVector<RangeAttr, SharedStorage> known;
  for (auto storage : module.getOps<StorageOp>())
    if (spaces.keeps(storage.getRange()) && storage.getRange().getBytes() > 0)
      known[storage.getRange()].storage = storage;
  for (auto plan : module.getOps<PlanOp>())
    for (auto op : plan.getBody().front().getOps<CollectiveOp>()) {
      auto found = known.find(op.getData());
      GroupOp group = groupOf(op, symbols);
      if (op.getKind().getValue() != ccl::CollectiveKind::AllGather || found == known.end() || !group ||
          group.getRanks().size() < 2 || found->second.gather)
        continue;
      const ccl::CollectiveCall call = callOf(op, group);
      if (!call.fault().empty() || call.bytes(ccl::Part::AllBlocks) != op.getData().getBytes())
        continue;
      found->second.gather = op;
      found->second.group = group;
      found->second.own =
          RangeAttr::get(op.getContext(), op.getData().getSpace(), op.getData().getOffset() + call.bytesBefore(),
                         call.bytes(ccl::Part::OwnBlock));
    }
  std::vector<SharedStorage> filled;
  for (auto &[range, storage] : known)
    if (storage.gather)
      filled.push_back(std::move(storage));
  return filled;
}

std::vector<SharedStorage> splitcast::exec::sharedStoragesOf(ModuleOp module) {
  SymbolTableCollection symbols;
  std::vector<SharedStorage> storages = filledStoragesOf(module, symbols);
  DenseMap<StringAttr, PlanWalk::ByOffset> places;
  for (size_t i = 0; i < storages.size(); ++i) {
    const RangeAttr range = storages[i].gather.getData();
    places[range.getSpace()][range.getOffset()] = i;
  }
  if (!storages.empty())
    for (auto plan : module.getOps<PlanOp>())
      PlanWalk(plan, storages, places, symbols).run();
  return storages;
}

/// Verifies that each write into a shared space lies within one of its
/// storages.
static LogicalResult verifyWritesWithin(SpaceOp space, ModuleOp module) {
  std::map<int64_t, int64_t> ends; // of storages, by where they begin
  for (auto storage : module.getOps<StorageOp>())
    if (storage.getRange().getSpace() == space.getSymNameAttr() && storage.getRange().getBytes() > 0)
      ends[storage.getRange().getOffset()] = storage.getRange().getEnd();
  for (auto plan : module.getOps<PlanOp>())
    for (Operation &op : plan.getBody().front()) {
      SmallVector<RangeAttr> reads, writes;
      rangesOf(&op, reads, writes);
      for (RangeAttr range : writes) {
        auto behind = ends.upper_bound(range.getOffset());
        if (range.getSpace() == space.getSymNameAttr() && range.getBytes() > 0 &&
            (behind == ends.begin() || std::prev(behind)->second < range.getEnd()))
          return op.emitOpError() << "writes " << range
                                  << ", which lies in no storage of that space, which ranks share; "
                                  << "write into a space that they do not share";
      }
    }
  return success();
}

std::string splitcast::exec::lineOf(const SharedStorage &storage) {
  StorageOp op = storage.storage;
  GroupOp group = storage.group;
  CollectiveOp gather = storage.gather;
  std::string line;
  llvm::raw_string_ostream os(line);
  os << op.getSymName() << " " << op.getType() << " " << gather.getStream() << ":";
  llvm::interleave(group.getRanks(), os, ",");
  os << " ";
  llvm::interleave(gather.getBlocks(), os, ",");
  os << " " << storage.meetings;
  return line;
}

/// Verifies C3 to C6 for one storage of a shared space, whose storages are
/// gathered on `stream`.
static LogicalResult verifyShared(const SharedStorage &shared, SpaceOp space, StringRef stream) {
  StorageOp storage = shared.storage;
  GroupOp group = shared.group;
  CollectiveOp gather = shared.gather;
  if (group.getSymName() != *space.getGroup())
    return storage.emitOpError() << "@" << storage.getSymName() << " is gathered in @" << group.getSymName()
                                 << ", but lies in @" << space.getSymName() << ", which is shared by @"
                                 << *space.getGroup() << "; put it into another space";
  if (gather.getStream() != stream)
    return gather.emitOpError() << "gathers @" << storage.getSymName() << " on stream '" << gather.getStream()
                                << "', but others of @" << space.getSymName()
                                << ", which ranks share, are gathered on '" << stream << "'; put it into another space";
  if (shared.faulty)
    return shared.faulty->emitOpError() << shared.fault << ", in storage @" << storage.getSymName() << " of @"
                                        << space.getSymName() << ", which ranks share; " << shared.remedy
                                        << ", or put the storage into a space that they do not share";
  return success();
}

LogicalResult splitcast::exec::verifySharedSpace(SpaceOp space, ModuleOp module) {
  DenseSet<Operation *> filled;
  std::optional<StringRef> stream;
  for (const SharedStorage &shared : sharedStoragesOf(module)) {
    CollectiveOp gather = shared.gather;
    if (gather.getData().getSpace() != space.getSymNameAttr())
      continue;
    if (!stream)
      stream = gather.getStream();
    if (failed(verifyShared(shared, space, *stream)))
      return failure();
    filled.insert(shared.storage);
  }
  for (auto storage : module.getOps<StorageOp>())
    if (storage.getRange().getSpace() == space.getSymNameAttr() && storage.getRange().getBytes() > 0 &&
        !filled.contains(storage))
      return storage.emitOpError() << "@" << storage.getSymName() << " is gathered by no collective of several ranks, "
                                   << "but lies in @" << space.getSymName() << ", which they share; put it into "
                                   << "another space";
  return verifyWritesWithin(space, module);
}
