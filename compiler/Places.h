//===- Places.h - Where an op comes from, for messages ------------------------===//
#ifndef SPLITCAST_COMPILER_PLACES_H
#define SPLITCAST_COMPILER_PLACES_H

#include "mlir/IR/Location.h"

#include <string>

namespace splitcast {

/// "file:line:column: " of the first place in a location that has a file, without a column where none is known; else
/// "name: ", what names it; else nothing.
std::string placeOf(mlir::Location location);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_PLACES_H
