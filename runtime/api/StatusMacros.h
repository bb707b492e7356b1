//===- StatusMacros.h - What a function does with an error of one that it calls ---------===//
//
//   SPLITCAST_RETURN_IF_ERROR(session->run("main"));
//   SPLITCAST_ASSIGN_OR_RETURN(mlir::ModuleOp module, graph.finish());
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_STATUSMACROS_H
#define SPLITCAST_RUNTIME_API_STATUSMACROS_H

#include "absl/status/statusor.h"

#include <utility>

/// Returns the absl::Status that `...` is, unless it is OK.
#define SPLITCAST_RETURN_IF_ERROR(...)                                                                                 \
  do {                                                                                                                 \
    if (absl::Status splitcastStatus = (__VA_ARGS__); !splitcastStatus.ok())                                           \
      return splitcastStatus;                                                                                          \
  } while (false)

/// Assigns what the absl::StatusOr that `...` is holds to `left`, which may be a declaration; or returns its error.
#define SPLITCAST_ASSIGN_OR_RETURN(left, ...) SPLITCAST_ASSIGN_OR_RETURN_AT(left, __LINE__, __VA_ARGS__)
// __LINE__ is a number only behind one more expansion.
#define SPLITCAST_ASSIGN_OR_RETURN_AT(left, line, ...) SPLITCAST_ASSIGN_OR_RETURN_NAMED(left, line, __VA_ARGS__)
#define SPLITCAST_ASSIGN_OR_RETURN_NAMED(left, line, ...)                                                              \
  SPLITCAST_ASSIGN_OR_RETURN_TO(left, splitcastOr##line, __VA_ARGS__)
#define SPLITCAST_ASSIGN_OR_RETURN_TO(left, name, ...)                                                                 \
  auto name = (__VA_ARGS__);                                                                                           \
  if (!name.ok())                                                                                                      \
    return std::move(name).status();                                                                                   \
  left = *std::move(name)

#endif // SPLITCAST_RUNTIME_API_STATUSMACROS_H
