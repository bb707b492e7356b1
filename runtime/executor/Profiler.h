//===- Profiler.h - How long each op of a plan takes ----------------------------------===//
//
// The profiler observes an executor. It records when each op begins and ends, and what the plan says about the op. It
// keeps no reference to the plan. Times are those at which the streams of the device did the work: on a GPU, events
// between the ops measure them. There, starting a collective takes as long as the collective itself, on its own stream.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_PROFILER_H
#define SPLITCAST_RUNTIME_EXECUTOR_PROFILER_H

#include "runtime/executor/Executor.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <deque>

namespace splitcast::runtime {

/// What a plan says about one of its ops, and how long the op's runs took. The times leave out the first run, which
/// warms up caches and touches pages.
struct ProfiledOp {
  std::string plan;       ///< the plan's name
  int64_t index = 0;      ///< the op's number in the plan
  std::string stream;     ///< where its work runs
  std::string kind;       ///< "kernel", "matmul", "all-gather", "wait for all-gather", "copy", "clear"
  std::string name;       ///< the kernel's name, a library call's sizes, or what a collective moves
  std::string place;      ///< of the user's first op of which it was made: "file:line:column", or a name
  int64_t bytes = 0;      ///< bytes that are read and written; the size of a collective's data, and 0 for a wait
  double flops = 0;       ///< multiplications and additions of a library call
  bool isSmall = false;   ///< whether a library call's elements are bf16 or f16
  bool isOfRanks = false; ///< whether it starts a collective or waits for one
  int64_t runs = 0;       ///< how often it ran, the first run included
  double seconds = 0, leastSeconds = 0; ///< the time of all runs but the first, and of the shortest of them
};

/// One run of an op, from its begin to its end, in nanoseconds of the StreamClock.
struct ProfiledRun {
  int32_t op = 0; ///< the index in ops()
  int64_t begin = 0, end = 0;
};

/// The live bytes, by role, in the spaces that are not kept, from this op of a plan on.
struct LiveBytes {
  std::string plan;
  int64_t index = 0;
  std::map<std::string, int64_t> byRole;
};

class Profiler final : public ExecutorObserver {
public:
  /// Keeps the begin and end of at most `mostRuns` runs. `clock` is the one of the executor's device; it may be null if
  /// nothing runs.
  Profiler(size_t mostRuns, std::unique_ptr<StreamClock> clock) : mostRuns(mostRuns), clock(std::move(clock)) {}

  void bound(mlir::Operation *op, int64_t index) override;
  void before(mlir::Operation *op, int64_t index, Stream &stream) override;
  void after(mlir::Operation *op, int64_t index, Stream &stream) override;
  absl::Status waited() override;

  const std::deque<ProfiledOp> &ops() const { return known; }
  /// Returns the first `mostRuns` runs, in order, without the first run of each op.
  const std::vector<ProfiledRun> &runs() const { return kept; }
  /// Returns, for each plan, one entry per op at which the live bytes change, in ascending order of the ops.
  const std::vector<LiveBytes> &liveBytes() const { return live; }

private:
  void addLiveBytes(exec::PlanOp plan);
  void add(const ProfiledRun &run);

  const size_t mostRuns;
  const std::unique_ptr<StreamClock> clock;
  std::deque<ProfiledOp> known;
  llvm::DenseMap<mlir::Operation *, int32_t> places;
  std::map<int64_t, ProfiledOp> startedBy; ///< the collectives of the plan that is being bound, by ticket
  std::vector<ProfiledRun> kept;
  std::vector<LiveBytes> live;
  std::vector<int32_t> enqueued; ///< the ops of which the clock has two marks each, since it was last read
  absl::Status status;           ///< the first error of a mark
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_PROFILER_H
