//===- StatusMacros.h - Returning the errors of called functions ------------------------===//
//
//   SPLITCAST_RETURN_IF_ERROR(session->run("main"));
//   SPLITCAST_ASSIGN_OR_RETURN(mlir::ModuleOp module, graph.finish());
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_STATUSMACROS_H
#define SPLITCAST_RUNTIME_API_STATUSMACROS_H

#include "absl/status/statusor.h"

#include <utility>

/// Evaluates `...`, an absl::Status, and returns it from the enclosing function unless it is OK.
#define SPLITCAST_RETURN_IF_ERROR(...)                                                                                 \
  do {                                                                                                                 \
    if (absl::Status splitcastStatus = (__VA_ARGS__); !splitcastStatus.ok())                                           \
      return splitcastStatus;                                                                                          \
  } while (false)

/// Evaluates `...`, an absl::StatusOr. Assigns its value to `left`, which may be a declaration, or returns its error
/// from the enclosing function.
#define SPLITCAST_ASSIGN_OR_RETURN(left, ...) SPLITCAST_ASSIGN_OR_RETURN_AT(left, __LINE__, __VA_ARGS__)
// One more macro is needed for __LINE__ to be expanded to its number.
#define SPLITCAST_ASSIGN_OR_RETURN_AT(left, line, ...) SPLITCAST_ASSIGN_OR_RETURN_NAMED(left, line, __VA_ARGS__)
#define SPLITCAST_ASSIGN_OR_RETURN_NAMED(left, line, ...)                                                              \
  SPLITCAST_ASSIGN_OR_RETURN_TO(left, splitcastOr##line, __VA_ARGS__)
#define SPLITCAST_ASSIGN_OR_RETURN_TO(left, name, ...)                                                                 \
  auto name = (__VA_ARGS__);                                                                                           \
  if (!name.ok())                                                                                                      \
    return std::move(name).status();                                                                                   \
  left = *std::move(name)

#endif // SPLITCAST_RUNTIME_API_STATUSMACROS_H
