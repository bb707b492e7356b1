//===- DeviceTraits.h - What kernels of a kind of device can do ---------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
#define SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H

#include "mlir/IR/BuiltinOps.h"

namespace splitcast {

struct DeviceTraits {
  /// One walk over the rows can also sum over them. (On a GPU rows are many warps', so that such a sum is a kernel of
  /// its own.)
  bool sumsBesideRows = true;
};

/// Of the kind of device that the rank's program is for: the module's `ccl.device`, which `sbp-localize` sets.
inline DeviceTraits deviceTraitsOf(mlir::ModuleOp module) {
  auto kind = module ? module->getAttrOfType<mlir::StringAttr>("ccl.device") : mlir::StringAttr();
  return {!kind || kind.getValue() != "cuda"};
}

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
