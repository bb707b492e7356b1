//===- Errors.h - What failed, as Python's exceptions ---------------------------===//
//
// The rest of the project returns a status; here, where Python calls it, one that is not OK is raised.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_ERRORS_H
#define SPLITCAST_COMPILER_PYTHON_ERRORS_H

#include "absl/status/statusor.h"

#include <pybind11/pybind11.h>

namespace splitcast::python {

/// Raises what is not OK: splitcast.InvalidError, a ValueError, of what the caller gave; splitcast.NotFoundError, a
/// KeyError; else splitcast.Error, of which these are subclasses. Needs the interpreter's lock.
void raiseUnlessOk(const absl::Status &status);
[[noreturn]] void raise(const absl::Status &status);
[[noreturn]] inline void raiseInvalid(const std::string &message) { raise(absl::InvalidArgumentError(message)); }

template <typename T> T valueOrRaise(absl::StatusOr<T> result) {
  raiseUnlessOk(result.status());
  return *std::move(result);
}

/// Runs `body` without the interpreter's lock, so that other threads of Python go on meanwhile.
template <typename Body> auto unlocked(Body &&body) {
  pybind11::gil_scoped_release release;
  return body();
}

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_ERRORS_H
