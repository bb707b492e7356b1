//===- Groups.h - The communicators of a plan ------------------------------------------===//
//
// A group of ranks has one communicator for each stream on which the plans start collectives of the group. All ranks
// must take part in making a communicator (Communicator::split), but ranks are in different groups: on a mesh of 2 x 2,
// rank 0 is in [0, 1] and [0, 2], and rank 3 is in [2, 3] and [1, 3]. So the ranks tell each other their groups, and
// all go through the same rounds. Each round makes groups that share no rank, in the order of their streams and ranks.
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

/// The name of a stream, and the ranks of a group.
using GroupOnStream = std::pair<std::string, std::vector<int64_t>>;

/// Returns the groups that are made together, round by round. Each group goes into the first round in which none of its
/// ranks is taken.
///   [0, 1], [0, 2], [1, 3], [2, 3]  ->  [0, 1] and [2, 3], then [0, 2] and [1, 3]
std::vector<std::vector<GroupOnStream>> roundsOf(const std::set<GroupOnStream> &groups);

class Groups {
public:
  /// Makes all communicators that the plans of a module need, between ranks of `root`. `root` is borrowed, and serves
  /// as the first group of all ranks. Every rank of `root` calls this at the same point.
  ///   Errors  those of Communicator::split; InvalidArgument: this rank is not at the index that a group of its plans
  ///           gives it. FailedPrecondition, on all ranks: a rank has a group that another member of it lacks.
  static absl::StatusOr<std::unique_ptr<Groups>> create(mlir::ModuleOp plans, Communicator &root);

  /// Return the group, the key and the communicator of a collective of these plans. The communicator is borrowed.
  exec::GroupOp groupOf(exec::CollectiveOp op) { return exec::groupOf(op, symbols); }
  GroupOnStream keyOf(exec::CollectiveOp op);
  Communicator *communicatorOf(exec::CollectiveOp op);

  /// Returns the root, then the others in the order in which they were made. Ranks that share communicators have them
  /// in the same order.
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
