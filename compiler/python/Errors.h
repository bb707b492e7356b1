//===- Errors.h - Statuses as Python exceptions ---------------------------------===//
//
// The rest of the project returns statuses. The bindings raise those that are not OK.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_ERRORS_H
#define SPLITCAST_COMPILER_PYTHON_ERRORS_H

#include "absl/status/statusor.h"

#include <nanobind/nanobind.h>

namespace splitcast::python {

/// Raises an exception if the status is not OK: splitcast.InvalidError (a ValueError) for InvalidArgument and
/// OutOfRange, splitcast.NotFoundError (a KeyError) for NotFound, otherwise splitcast.Error, which is the base class of
/// these. The caller must hold the interpreter's lock.
void raiseUnlessOk(const absl::Status &status);
[[noreturn]] void raise(const absl::Status &status);
[[noreturn]] inline void raiseInvalid(const std::string &message) { raise(absl::InvalidArgumentError(message)); }

template <typename T> T valueOrRaise(absl::StatusOr<T> result) {
  raiseUnlessOk(result.status());
  return *std::move(result);
}

/// The right to use the job, its sessions and their memory, which only one thread at a time has. It is taken while the
/// interpreter's lock is held, and kept without it. A thread may take it several times.
class Turn {
public:
  /// Raises splitcast.Error if another thread has it.
  Turn();
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  ~Turn();
  /// Lets no other thread take it from now on, and waits until none has it, without the interpreter's lock.
  static void awaitLast();
};

/// Runs `body` without the interpreter's lock, so that other Python threads can run meanwhile, but not use the job.
template <typename Body> auto unlocked(Body &&body) {
  const Turn turn;
  nanobind::gil_scoped_release release;
  return body();
}

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_ERRORS_H
