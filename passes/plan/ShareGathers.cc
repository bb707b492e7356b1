// Moves storages that all-gathers fill into spaces that ranks share, where the
// plans allow it (SharedStorages.h).
//
//   exec.space @persistent 384 bytes kept               exec.space @persistent 192 bytes kept
//                                                       exec.space @shared_dp 192 bytes kept shared by @dp
//   exec.storage @w : .. in <persistent, 0, 160> ..     exec.storage @w : .. in <shared_dp, 0, 160> ..
//   exec.storage @m : .. in <persistent, 192, 160> ..   exec.storage @m : .. in <persistent, 0, 160> ..
//
// The plans change in nothing else. Between ranks without common memory, an
// all-gather in such a space moves the same bytes as before.
#include "dialects/exec/SharedStorages.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/local/DeviceTraits.h"
#include "passes/plan/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace splitcast {
#define GEN_PASS_DEF_SHAREGATHERSPASS
#include "passes/plan/Passes.h.inc"
} // namespace splitcast

using namespace mlir;
using namespace splitcast;

namespace {

/// The new ranges of the storages of one space.
class Moves {
public:
  explicit Moves(StringAttr from) : from(from) {}

  /// Appends the storage to the space `to`. Returns false if it overlaps
  /// another storage.
  bool add(exec::StorageOp storage, StringAttr to) {
    const exec::RangeAttr range = storage.getRange();
    if (range.getBytes() == 0)
      return true; // an empty storage may begin where another does
    auto behind = moves.lower_bound(range.getOffset());
    if ((behind != moves.end() && behind->first < range.getEnd()) ||
        (behind != moves.begin() && std::prev(behind)->second.oldEnd > range.getOffset()))
      return false;
    int64_t &end = ends.insert({to, 0}).first->second;
    moves[range.getOffset()] = {range.getEnd(), to, end};
    end = sbp::alignUp(end + range.getBytes(), sbp::kAlignmentBytes);
    return true;
  }

  /// Returns the new range of `range`; null if it lies in no storage.
  exec::RangeAttr moved(exec::RangeAttr range) const {
    if (range.getSpace() != from)
      return range;
    if (range.getBytes() == 0)
      return exec::RangeAttr::get(range.getContext(), from, 0, 0);
    auto behind = moves.upper_bound(range.getOffset());
    if (behind == moves.begin() || std::prev(behind)->second.oldEnd < range.getEnd())
      return {};
    const auto &[oldBegin, move] = *std::prev(behind);
    return exec::RangeAttr::get(range.getContext(), move.to, move.begin + range.getOffset() - oldBegin,
                                range.getBytes());
  }

  int64_t endOf(StringAttr space) const { return ends.lookup(space); }

private:
  struct Move {
    int64_t oldEnd;
    StringAttr to;
    int64_t begin;
  };
  StringAttr from;
  std::map<int64_t, Move> moves; ///< by the old offset of the storage
  llvm::DenseMap<StringAttr, int64_t> ends;
};

using Space = std::pair<StringAttr, StringAttr>; ///< the group that shares the space, and the stream of its gathers

struct ShareGathers : splitcast::impl::ShareGathersPassBase<ShareGathers> {
  using ShareGathersPassBase::ShareGathersPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto persistent = symbols.lookup<exec::SpaceOp>(exec::kPersistentName);
    if (!persistent || deviceTraitsOf(module).hasOwnMemory)
      return;
    llvm::MapVector<Operation *, Space> shared = findShared(module);
    if (shared.empty())
      return;
    llvm::MapVector<Space, StringAttr> names;
    llvm::DenseMap<StringAttr, size_t> spacesOf; // by group, the number of its spaces
    for (auto &[storage, space] : shared)
      if (StringAttr &name = names[space]; !name)
        name = freeName(symbols, "shared_" + space.first.getValue(), spacesOf[space.first]++);
    Moves moves(persistent.getSymNameAttr());
    for (auto storage : module.getOps<exec::StorageOp>())
      if (storage.getRange().getSpace() == persistent.getSymNameAttr()) {
        auto found = shared.find(storage);
        if (!moves.add(storage, found == shared.end() ? persistent.getSymNameAttr() : names[found->second])) {
          storage.emitOpError() << "@" << storage.getSymName() << " lies in " << storage.getRange()
                                << ", where another storage does; give each bytes of its own";
          return signalPassFailure();
        }
      }
    if (failed(move(module, moves)))
      return signalPassFailure();
    persistent.setBytes(moves.endOf(persistent.getSymNameAttr()));
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(persistent);
    for (auto &[space, name] : names)
      b.create<exec::SpaceOp>(persistent.getLoc(), name, nullptr, b.getI64IntegerAttr(moves.endOf(name)),
                              b.getUnitAttr(), FlatSymbolRefAttr::get(space.first));
  }

private:
  llvm::MapVector<Operation *, Space> findShared(ModuleOp module) {
    llvm::StringSet<> wanted;
    for (const std::string &storage : storages)
      wanted.insert(storage);
    llvm::MapVector<Operation *, Space> shared;
    for (const exec::SharedStorage &storage : exec::sharedStoragesOf(module)) {
      exec::StorageOp op = storage.storage;
      exec::GroupOp group = storage.group;
      exec::CollectiveOp gather = storage.gather;
      if (!storage.faulty && op.getRange().getSpace() == exec::kPersistentName &&
          (wanted.empty() || wanted.contains(op.getSymName())))
        shared[op] = {group.getSymNameAttr(), gather.getStreamAttr()};
    }
    return shared;
  }

  static StringAttr freeName(SymbolTable &symbols, const Twine &wanted, size_t number) {
    std::string name = (wanted + (number > 0 ? "_" + Twine(number) : Twine())).str();
    while (symbols.lookup(name))
      name += "_";
    return StringAttr::get(symbols.getOp()->getContext(), name);
  }

  static LogicalResult move(ModuleOp module, const Moves &moves) {
    Operation *stray = nullptr;
    exec::RangeAttr strayRange;
    Operation *current = nullptr;
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](exec::RangeAttr range) {
      const exec::RangeAttr moved = moves.moved(range);
      if (!moved && !stray) {
        stray = current;
        strayRange = range;
      }
      return moved ? moved : range;
    });
    module.walk([&](Operation *op) {
      current = op;
      if (isa<exec::ExecDialect>(op->getDialect()))
        replacer.replaceElementsIn(op);
    });
    return stray ? stray->emitOpError() << "uses " << strayRange << ", which lies in no storage of @"
                                        << exec::kPersistentName << "; all bytes of that space must lie in storages"
                 : LogicalResult(success());
  }
};

} // namespace
