//===- ThisRank.h - The rank that this Python process is -----------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_THISRANK_H
#define SPLITCAST_COMPILER_PYTHON_THISRANK_H

#include "compiler/launch/Launch.h"

#include <nanobind/nanobind.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>

namespace splitcast::python {

/// This process's rank of its job. It exists from its first use to the end of the interpreter.
class ThisRank {
public:
  /// Returns the rank; begins it with default options if begin() was not called. Raises an error if the job has ended.
  static ThisRank &get();
  /// Begins the rank. `options` are LaunchOptions, with the names of their flags: timeout=60, threads=2. All ranks call
  /// it, once per process; they agree on their options, and that all have their devices. Raises errors.
  static void begin(const nanobind::dict &options);
  /// Whether the rank has begun; it may have ended since. In a child that it forked it has not.
  static bool hasBegun();
  /// Whether this process was forked from the rank: it shares the rank's memory and connections, and may not use them.
  static bool isForked();
  /// Raises an error in such a process.
  static void requireOwnProcess();
  /// Ends the job, with an error if one is given, which the other ranks are told. Returns the exit status.
  static int end(const std::optional<std::string> &error);

  /// Requires that the job has not ended.
  Launch &launch() { return *ofRank; }
  /// Raises an error if the job has ended.
  void requireNotEnded() const;
  /// Registers a function that end() calls before it ends the launch, to destroy what uses the launch. Returns a number
  /// with which forget() unregisters it.
  int64_t beforeEnd(std::function<void()> close);
  void forget(int64_t number) { closers.erase(number); }

private:
  std::unique_ptr<Launch> ofRank; ///< null if the job has ended
  std::map<int64_t, std::function<void()>> closers;
  int64_t next = 0;
  const pid_t process = getpid();
};

void bindThisRank(nanobind::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_THISRANK_H
