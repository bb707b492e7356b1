//===- AgreeOnStorages.h - Which storages ranks can share ----------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_AGREEONSTORAGES_H
#define SPLITCAST_COMPILER_LAUNCH_AGREEONSTORAGES_H

#include "runtime/api/Communicator.h"

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace splitcast {

// Errors of the functions that ask other ranks are those of Communicator::exchange.

/// Returns the names of the storages of a plan that all ranks of their group can share: each rank finds that one copy
/// suffices, and all synchronize at the same collectives (exec::sharedStoragesOf). Every rank calls it.
absl::StatusOr<std::vector<std::string>> agreeOnStorages(mlir::ModuleOp plans, runtime::Communicator &communicator);

/// Whether ranks have memory in common. Every rank calls it, and all get the same result.
absl::StatusOr<bool> haveMemoryInCommon(runtime::Communicator &communicator);

/// Whether the plan has parameters that are whole only because of `one-copy=yes`: stage 3 would split them.
bool hasWhole(mlir::ModuleOp plans);

/// Whether keeping such parameters whole takes less memory of a machine than splitting them. It does if each rank
/// either shares all of them, or has fewer bytes of its own than the largest that it shares, which it would have to
/// gather for use if it were split. Every rank calls it, and all get the same result.
absl::StatusOr<bool> paysToHaveOneCopy(mlir::ModuleOp plans, runtime::Communicator &communicator);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_AGREEONSTORAGES_H
