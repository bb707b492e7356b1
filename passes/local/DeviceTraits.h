//===- DeviceTraits.h - What a kind of device can do --------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
#define SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace splitcast {

struct DeviceTraits {
  /// Kernels are gpu.launch ops; else loops of one thread.
  bool launchesThreads = false;
  /// One walk over the rows can also sum over them. (On a GPU rows are many warps', so that such a sum is a kernel of
  /// its own.)
  bool sumsBesideRows = true;
  /// An op that asks for another library call than these becomes a kernel.
  bool hasAllLibraryCalls = true;
  std::vector<std::string> libraryCalls;

  bool hasLibraryCall(llvm::StringRef name) const {
    return hasAllLibraryCalls || llvm::is_contained(libraryCalls, name);
  }
};

/// Of the kind of device that the rank's program is for: the module's `ccl.device`, which `sbp-localize` sets. The one
/// place where the compiler tells kinds apart.
inline DeviceTraits deviceTraitsOf(mlir::ModuleOp module) {
  auto kind = module ? module->getAttrOfType<mlir::StringAttr>("ccl.device") : mlir::StringAttr();
  if (kind && kind.getValue() == "cuda")
    return {/*launchesThreads=*/true, /*sumsBesideRows=*/false, /*hasAllLibraryCalls=*/false, {"matmul"}};
  return {};
}

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
