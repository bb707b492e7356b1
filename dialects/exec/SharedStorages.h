//===- SharedStorages.h - Storages of which ranks may have one copy ---------------===//
//
// A storage that an all-gather fills is the same on all ranks of its group, but while they write their blocks of it. So
// ranks that have memory in common can have one copy, if none overwrites what another still reads. Between the last
// read of all ranks and the first write of any they must have met: in a collective that each of them starts behind its
// last read, and waits for before it writes. At stages 1 and 2 of ZeRO the reduction of the gradients is one.
//
//   exec.library ... reads [<persistent, 0, 64>]          the last read
//   exec.collective reduce_scatter "w" in @dp ticket 3    where ranks meet: all have blocks of it
//   exec.wait 3
//   exec.launch ... writes [<persistent, 0, 32>]          rank 0's block
//   exec.collective all_gather "w" in @dp ticket 4 {data = <persistent, 0, 64>}
//   exec.wait 4                                           may be read again
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_SHAREDSTORAGES_H
#define SPLITCAST_DIALECTS_EXEC_SHAREDSTORAGES_H

#include "dialects/exec/Exec.h"

namespace splitcast::exec {

struct SharedStorage {
  StorageOp storage;
  GroupOp group;       ///< that gathers it
  CollectiveOp gather; ///< the first
  RangeAttr own;       ///< this rank's block of it
  /// What keeps ranks from having one copy: the op, what it does, and what is allowed; null: nothing.
  mlir::Operation *faulty = nullptr;
  std::string fault, remedy;
  /// In which collectives ranks meet before it is gathered, in each plan. Ranks may have one copy if this is the same
  /// on all of them, and none has a fault: one alone cannot tell, since another may have no block, or reads where this
  /// one has its own.
  std::string meetings;
};

/// The kept storages of a module that all-gathers of groups of several ranks fill, in the order of the module. Takes a
/// time linear in the plans' ops and the storages that they use.
std::vector<SharedStorage> sharedStoragesOf(mlir::ModuleOp module);

/// What ranks compare, on one line: of the storage, its group, blocks and meetings.
std::string lineOf(const SharedStorage &storage);

/// C3 to C6 of a space that is shared.
mlir::LogicalResult verifySharedSpace(SpaceOp space, mlir::ModuleOp module);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_SHAREDSTORAGES_H
