//===- ThisRank.h - This process as a rank -------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_THISRANK_H
#define SPLITCAST_COMPILER_PYTHON_THISRANK_H

#include "compiler/launch/Launch.h"

#include <pybind11/pybind11.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace splitcast::python {

/// The job that this process is a rank of, from the first use of it to the end of the interpreter.
class ThisRank {
public:
  /// Begins with the defaults unless begin() was called.
  static ThisRank &get();
  /// With LaunchOptions, as their flags say them: timeout=60, threads=2. Once per process, by all ranks; they agree
  /// that their devices are there.
  static void begin(const pybind11::dict &options);
  /// Whether there is one.
  static bool hasBegun();
  /// The exit status; with an error, of which the others hear.
  static int end(const std::optional<std::string> &error);

  Launch &launch() { return *ofRank; }
  /// Requires that the job has not ended: else an error is raised.
  void requireNotEnded() const;
  /// Called before the launch ends: what uses it goes first. The number is for forget().
  int64_t beforeEnd(std::function<void()> close);
  void forget(int64_t number) { closers.erase(number); }

private:
  std::unique_ptr<Launch> ofRank; ///< null: it has ended
  std::map<int64_t, std::function<void()>> closers;
  int64_t next = 0;
};

void bindThisRank(pybind11::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_THISRANK_H
