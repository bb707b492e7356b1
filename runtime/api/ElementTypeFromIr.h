//===- ElementTypeFromIr.h - From a type of the IR to a type of the runtime ---===//
#ifndef SPLITCAST_RUNTIME_API_ELEMENTTYPEFROMIR_H
#define SPLITCAST_RUNTIME_API_ELEMENTTYPEFROMIR_H

#include "runtime/api/ElementType.h"

#include "mlir/IR/Types.h"

#include <optional>

namespace splitcast::runtime {

/// Returns nothing if buffers cannot hold elements of that type.
std::optional<ElementType> elementTypeOf(mlir::Type type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_ELEMENTTYPEFROMIR_H
