//===- Places.h - Where an op comes from, for messages ------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_PLACES_H
#define SPLITCAST_DIALECTS_SBP_PLACES_H

#include "mlir/IR/Location.h"

#include <string>

namespace splitcast {

/// Returns "file:line:column: " of the first place in the location that has a file; the column is left out if it is
/// unknown. If no place has a file, returns "name: " for a location with a name, else "".
std::string placeOf(mlir::Location location);

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_SBP_PLACES_H
