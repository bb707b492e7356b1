//===- ElementTypes.h - Element types of the IR, as the runtime names them -------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_ELEMENTTYPES_H
#define SPLITCAST_RUNTIME_EXECUTOR_ELEMENTTYPES_H

#include "runtime/api/ElementType.h"

#include "absl/status/statusor.h"
#include "mlir/IR/Types.h"

namespace splitcast::runtime {

/// Of a tensor or an element. InvalidArgument: no buffer holds such elements.
absl::StatusOr<ElementType> storedTypeOf(mlir::Type type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_ELEMENTTYPES_H
