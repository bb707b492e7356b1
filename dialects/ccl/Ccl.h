//===- Ccl.h - The ccl dialect ------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_CCL_H
#define SPLITCAST_DIALECTS_CCL_CCL_H

#include "dialects/sbp/Sbp.h"

namespace splitcast::ccl {

/// What storages hold.
struct StorageResource : mlir::SideEffects::Resource::Base<StorageResource> {
  mlir::StringRef getName() final { return "ccl.storage"; }
};

/// What keeps collectives in order.
struct WireResource : mlir::SideEffects::Resource::Base<WireResource> {
  mlir::StringRef getName() final { return "ccl.wire"; }
};

} // namespace splitcast::ccl

#include "dialects/ccl/CclDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/ccl/CclTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/ccl/CclOps.h.inc"

#endif // SPLITCAST_DIALECTS_CCL_CCL_H
