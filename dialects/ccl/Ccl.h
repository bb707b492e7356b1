//===- Ccl.h - The ccl dialect ------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_CCL_H
#define SPLITCAST_DIALECTS_CCL_CCL_H

#include "dialects/ccl/algebra/Collective.h"
#include "dialects/sbp/Sbp.h"

namespace splitcast::ccl {

/// The resource that holds the values of storages.
struct StorageResource : mlir::SideEffects::Resource::Base<StorageResource> {
  mlir::StringRef getName() final { return "ccl.storage"; }
};

/// The resource that keeps collectives in order.
struct WireResource : mlir::SideEffects::Resource::Base<WireResource> {
  mlir::StringRef getName() final { return "ccl.wire"; }
};

} // namespace splitcast::ccl

#include "dialects/ccl/CclDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/ccl/CclAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/ccl/CclTypes.h.inc"

namespace splitcast::ccl {

class CollectiveOpInterface;
class WaitOp;

/// Verifies C1 and C2 of every collective.
mlir::LogicalResult verifyCollective(mlir::Operation *collective);

} // namespace splitcast::ccl

#include "dialects/ccl/CclOpInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/ccl/CclOps.h.inc"

namespace splitcast::ccl {

CollectiveCall callOf(CollectiveOpInterface op);

/// Returns the op that waits for the collective's result.
WaitOp waitOf(CollectiveOpInterface op);

} // namespace splitcast::ccl

#endif // SPLITCAST_DIALECTS_CCL_CCL_H
