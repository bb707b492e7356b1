//===- Executor.h - Walks a plan --------------------------------------------------------===//
//
// Binds the plans of a module to a device and a communicator: kernels loaded, library calls prepared, every range an
// address. A run then replays what was bound, with no IR, no look-up and no allocation. It knows no backend, and does
// nothing that the plan does not say: all copies, waits and collectives are ops of it.
//
// The first run of a plan enqueues op after op, which warms up whatever is made at its first use. The second is
// captured (Device::capture); it and all others replay that.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_EXECUTOR_H
#define SPLITCAST_RUNTIME_EXECUTOR_EXECUTOR_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"
#include "runtime/executor/Groups.h"
#include "runtime/process/ViewedMemory.h"

#include "llvm/ADT/StringSet.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// Called before and after each op of a plan, when asked for: `index` counts the ops of the plan. With one, nothing is
/// captured.
struct ExecutorObserver {
  virtual ~ExecutorObserver() = default;
  /// Once for each op of a plan, in order, before any of it runs. An op's address may have been that of an op of
  /// another executor, which is gone.
  virtual void bound(mlir::Operation *op, int64_t index) {}
  virtual void before(mlir::Operation *op, int64_t index) {}
  virtual void after(mlir::Operation *op, int64_t index) {}
};

class Executor {
public:
  /// `plans` is a module at the plan level; it is read here and no more. Allocates its spaces, one copy for ranks that
  /// share one and can, and zeroes those that are kept. Every rank of the communicator calls this at the same point.
  /// Null, on all ranks, before each has a copy of its own, and only with `needsOneCopy`: ranks that have memory in
  /// common cannot have one copy of a space that they share.
  ///   Errors  those of the device and of Groups::create; InvalidArgument: the plan is for another number of ranks.
  static absl::StatusOr<std::unique_ptr<Executor>> bind(mlir::ModuleOp plans, Device &device,
                                                        Communicator &communicator,
                                                        ExecutorObserver *observer = nullptr,
                                                        bool needsOneCopy = false);
  ~Executor();

  /// Enqueues one run of a plan, behind all that was enqueued before. NotFound: no such plan. After an error, of this
  /// or any other call, the executor is only good for being destroyed.
  absl::Status enqueue(const std::string &plan);
  /// Enqueues a copy between a range and as many bytes of Device::allocateHost, which nobody else touches before
  /// wait().
  absl::Status enqueueUpload(exec::RangeAttr to, std::byte *from);
  absl::Status enqueueDownload(std::byte *to, exec::RangeAttr from);
  /// Waits until all that was enqueued has been done.
  absl::Status wait();
  /// enqueue() and wait().
  absl::Status run(const std::string &plan);

  /// The bytes of a range, as the last run or the caller left them.
  Buffer resolve(exec::RangeAttr range) const;
  /// All of a space. Requires that the module declares it.
  Buffer space(llvm::StringRef name) const { return spaces.lookup(name); }
  /// Whether this rank is the one that sets what lies there before plans run: the first of those that have one copy.
  bool sets(exec::RangeAttr range) const { return spacesOfOthers.count(range.getSpace()) == 0; }
  /// Whether ranks have one copy of a space.
  bool isShared(llvm::StringRef space) const { return shared.contains(space); }
  /// Bytes of spaces that ranks have one copy of.
  int64_t sharedBytes() const;
  /// Why ranks that have memory in common do not have one copy of a space, for a person; empty: they do.
  const std::string &whyNotShared() const { return notShared; }

private:
  struct Step {
    std::function<absl::Status()> run;
    mlir::Operation *op;
  };

  Executor(Device &device, ExecutorObserver *observer) : device(device), observer(observer) {}

  absl::Status share(mlir::ModuleOp plans, Communicator &root);
  absl::Status share(exec::SpaceOp space, int64_t ownBytes, Communicator &group);
  absl::Status allocate(mlir::ModuleOp plans);
  absl::Status allocate(exec::SpaceOp space);
  absl::Status populate();
  absl::Status loadKernels(mlir::ModuleOp plans);
  absl::Status bindPlan(exec::PlanOp plan);
  absl::StatusOr<std::function<absl::Status()>> bindOp(mlir::Operation *op);
  absl::StatusOr<std::function<absl::Status()>> bindLaunch(std::unique_ptr<Launchable> launchable,
                                                           mlir::ArrayAttr reads, mlir::ArrayAttr writes);
  absl::StatusOr<std::function<absl::Status()>> bindCollective(exec::CollectiveOp op);
  using Start = std::function<absl::StatusOr<Event>()>;
  absl::StatusOr<Start> bindStart(exec::CollectiveOp op);
  absl::Status registerMemory(mlir::ModuleOp plans);
  absl::StatusOr<Stream *> streamOf(llvm::StringRef name);

  Device &device;
  ExecutorObserver *observer;
  llvm::StringMap<Buffer> spaces;
  /// A space that ranks have one copy of.
  struct SharedSpace {
    std::unique_ptr<SharedMemory> memory;
    SharedView blocksOfOthers;
  };
  llvm::StringMap<std::unique_ptr<SharedSpace>> shared;
  llvm::StringSet<> spacesOfOthers; ///< those of these in which this rank is not the first
  std::string notShared;
  std::vector<Buffer> untouched; ///< get their pages when a plan first runs: what compiling took is free then
  std::unique_ptr<KernelLibrary> kernels;
  std::vector<std::unique_ptr<Launchable>> launchables;
  std::map<std::string, std::unique_ptr<Stream>> streams;
  std::unique_ptr<Groups> groups;
  std::vector<std::unique_ptr<Registration>> registrations;
  std::map<int64_t, Event> underWay; ///< by ticket
  struct Bound {
    std::vector<Step> steps;
    int64_t runs = 0;
    std::unique_ptr<CapturedWork> captured;
  };
  absl::Status enqueueOps(const Bound &plan);

  std::map<std::string, Bound> bound; ///< plans by name
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_EXECUTOR_H
