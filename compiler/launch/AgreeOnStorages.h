//===- AgreeOnStorages.h - Of what ranks may have one copy ---------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_AGREEONSTORAGES_H
#define SPLITCAST_COMPILER_LAUNCH_AGREEONSTORAGES_H

#include "runtime/api/Communicator.h"

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace splitcast {

/// The storages of a plan of which all ranks of their group find that they may have one copy, and meet alike
/// (exec::sharedStoragesOf), by name. Every rank calls it.
absl::StatusOr<std::vector<std::string>> agreeOnStorages(mlir::ModuleOp plans, runtime::Communicator &communicator);

/// Whether ranks have memory in common. Every rank calls it, and all get the same.
absl::StatusOr<bool> haveMemoryInCommon(runtime::Communicator &communicator);

/// Whether it has parameters that stage 3 would split, but for `one-copy=yes`.
bool hasWhole(mlir::ModuleOp plans);

/// Whether parameters that stage 3 would split, but for `one-copy=yes`, take less memory of a machine as they lie: on
/// each rank those that it does not share are smaller than what it would gather, split, to use the largest of the
/// others. Every rank calls it, and all get the same.
absl::StatusOr<bool> paysToHaveOneCopy(mlir::ModuleOp plans, runtime::Communicator &communicator);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_AGREEONSTORAGES_H
