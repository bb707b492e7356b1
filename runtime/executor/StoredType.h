//===- StoredType.h - What a tensor of the IR is stored as, or why it is not -------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_STOREDTYPE_H
#define SPLITCAST_RUNTIME_EXECUTOR_STOREDTYPE_H

#include "runtime/api/ElementType.h"

#include "absl/status/statusor.h"
#include "mlir/IR/Types.h"

namespace splitcast::runtime {

/// Of a tensor or an element. InvalidArgument: no buffer holds such elements.
absl::StatusOr<ElementType> storedTypeOf(mlir::Type type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_STOREDTYPE_H
