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

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_AGREEONSTORAGES_H
