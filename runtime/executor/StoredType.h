//===- StoredType.h - The type in which a tensor of the IR is stored ---------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_STOREDTYPE_H
#define SPLITCAST_RUNTIME_EXECUTOR_STOREDTYPE_H

#include "runtime/api/ElementType.h"

#include "absl/status/statusor.h"
#include "mlir/IR/Types.h"

namespace splitcast::runtime {

/// Returns the type in which the elements of a tensor type, or of an element type itself, are stored.
///   Errors  InvalidArgument: no buffer holds such elements.
absl::StatusOr<ElementType> storedTypeOf(mlir::Type type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_STOREDTYPE_H
