//===- SharedStorages.h - Storages of which the ranks of a machine may share one copy ---------------===//
//
// A storage that an all-gather fills is the same on all ranks of its group, except while they write their blocks of it.
// So ranks that have memory in common can share one copy, if none overwrites bytes that another still reads. Between
// the last read of all ranks and the first write of any rank they must meet: in a collective that each of them starts
// after its last read, and waits for before it writes. At stages 1 and 2 of ZeRO the reduction of the gradients is such
// a collective.
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
  GroupOp group;       ///< the group that gathers it
  CollectiveOp gather; ///< the first one
  RangeAttr own;       ///< this rank's block of it
  /// The op that prevents one copy, what it does, and what would be allowed; null if there is none.
  mlir::Operation *faulty = nullptr;
  std::string fault, remedy;
  /// The collectives in which ranks meet before it is gathered, in each plan. Ranks may have one copy if this text is
  /// the same on all of them, and none has a fault. One rank alone cannot tell, since another may have no block, or may
  /// read a place where this rank has its own block.
  std::string meetings;
};

/// Returns the kept storages of a module that all-gathers of groups of several ranks fill, in the order of the module.
/// The time is linear in the number of the plans' ops and of the storages that they use.
std::vector<SharedStorage> sharedStoragesOf(mlir::ModuleOp module);

/// Returns the line that ranks compare: the storage's group, blocks and meetings.
std::string lineOf(const SharedStorage &storage);

/// Verifies C3 to C6 of a shared space.
mlir::LogicalResult verifySharedSpace(SpaceOp space, mlir::ModuleOp module);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_SHAREDSTORAGES_H
