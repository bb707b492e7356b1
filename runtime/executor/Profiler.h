//===- Profiler.h - How long each op of a plan takes ----------------------------------===//
//
// An observer of an executor that notes when each op begins and ends, and what the plan says of it. It keeps no
// reference to the plan. On a device whose calls return before the work is done, the times are those of enqueuing.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_PROFILER_H
#define SPLITCAST_RUNTIME_EXECUTOR_PROFILER_H

#include "runtime/executor/Executor.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <deque>

namespace splitcast::runtime {

/// What a plan says of one of its ops, and how long its runs took but for the first, which warms up caches and touches
/// pages.
struct ProfiledOp {
  std::string plan; ///< its name
  int64_t index = 0;
  std::string kind;       ///< "kernel", "matmul", "all-gather", "wait for all-gather", "copy", "clear"
  std::string name;       ///< of the kernel; sizes of a call; what a collective is of
  int64_t bytes = 0;      ///< read and written; of a collective, sent
  double flops = 0;       ///< of a library call, multiplications and additions
  bool isSmall = false;   ///< of bf16 or f16
  bool isOfRanks = false; ///< a collective's start, or the wait for its end
  int64_t runs = 0;
  double seconds = 0, leastSeconds = 0; ///< of all runs together, and of the shortest
};

/// From an op's begin to its end, in nanoseconds of the machine's steady clock, which all its processes share.
struct ProfiledRun {
  int32_t op = 0; ///< its place among ops()
  int64_t begin = 0, end = 0;
};

/// Bytes live in the spaces that are not kept, by role, from an op of a plan on.
struct LiveBytes {
  std::string plan;
  int64_t index = 0;
  std::map<std::string, int64_t> byRole;
};

class Profiler final : public ExecutorObserver {
public:
  /// Keeps so many runs one by one.
  explicit Profiler(size_t mostRuns) : mostRuns(mostRuns) {}

  void bound(mlir::Operation *op, int64_t index) override;
  void before(mlir::Operation *op, int64_t index) override;
  void after(mlir::Operation *op, int64_t index) override;

  const std::deque<ProfiledOp> &ops() const { return known; }
  /// The first ones behind the warming up, in order.
  const std::vector<ProfiledRun> &runs() const { return kept; }
  /// Of the plan that the op belongs to, where what is live changes, ascending.
  const std::vector<LiveBytes> &liveBytes() const { return live; }
  /// Of the clock of all this.
  static int64_t now();

private:
  void addLiveBytes(exec::PlanOp plan);

  const size_t mostRuns;
  std::deque<ProfiledOp> known;
  llvm::DenseMap<mlir::Operation *, int32_t> places;
  std::map<int64_t, ProfiledOp> startedBy; ///< of the plan being bound: collectives by ticket
  std::vector<ProfiledRun> kept;
  std::vector<LiveBytes> live;
  int64_t begin = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_PROFILER_H
