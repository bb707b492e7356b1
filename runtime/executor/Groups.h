//===- Groups.h - The communicators of a plan ------------------------------------------===//
//
// A group of ranks has a communicator for each stream on which the plans call collectives in it. Making one takes all
// ranks (Communicator::split), and ranks are in different groups: on a mesh of 2 x 2, rank 0 is in [0, 1] and [0, 2],
// rank 3 in [2, 3] and [1, 3]. So the ranks tell each other theirs, and all go through the same rounds: groups that
// share no rank are made at a time, in the order of their streams and ranks.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_GROUPS_H
#define SPLITCAST_RUNTIME_EXECUTOR_GROUPS_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Communicator.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// Some ranks, and a stream of theirs.
using GroupOnStream = std::pair<std::string, std::vector<int64_t>>;

/// The groups that are made at a time, in order: each goes into the first round in which none of its ranks is taken.
///   [0, 1], [0, 2], [1, 3], [2, 3]  ->  [0, 1] and [2, 3], then [0, 2] and [1, 3]
std::vector<std::vector<GroupOnStream>> roundsOf(const std::set<GroupOnStream> &groups);

class Groups {
public:
  /// Makes all that the plans of a module need, of the ranks of `root`, which is borrowed and may serve one itself.
  /// Every rank of `root` calls this at the same point.
  ///   Errors  those of split; InvalidArgument: this rank is not where a group of its plans has it. FailedPrecondition,
  ///           on all ranks: a rank has a group of which another member has none.
  static absl::StatusOr<std::unique_ptr<Groups>> create(mlir::ModuleOp plans, Communicator &root);

  /// Of a collective of these plans.
  exec::GroupOp groupOf(exec::CollectiveOp op) { return exec::groupOf(op, symbols); }
  GroupOnStream keyOf(exec::CollectiveOp op);
  Communicator *communicatorOf(exec::CollectiveOp op);

  /// The root, then the others in the order in which they were made: the same on all ranks that share them.
  const std::vector<Communicator *> &all() const { return order; }

private:
  explicit Groups(Communicator &root) : order({&root}) {}

  absl::Status makeAll(const std::set<GroupOnStream> &groups);

  mlir::SymbolTableCollection symbols;
  std::map<GroupOnStream, Communicator *> communicators;
  std::vector<std::unique_ptr<Communicator>> made;
  std::vector<Communicator *> order;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_GROUPS_H
