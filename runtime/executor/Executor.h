//===- Executor.h - Runs plans ----------------------------------------------------------===//
//
// The executor binds the plans of a module to a device and a communicator: it loads the kernels, prepares the library
// calls, and turns every range into an address. A run then replays what was bound, with no IR, no look-up and no
// allocation. The executor knows no backend, and does nothing that the plan does not say: all copies, waits and
// collectives are ops of the plan.
//
// The first run of a plan enqueues op after op, so that everything that is made at its first use is there. The second
// run is captured (Device::capture), if the device can; it and all later runs replay the captured work.
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
#include <utility>
#include <vector>

namespace splitcast::runtime {

/// An executor that is given an observer calls it before and after it enqueues each op of a plan; `index` is the op's
/// number in its plan, from 0, and the op's work goes to `stream`, which already waits for what the op needs. With an
/// observer, no work is captured.
struct ExecutorObserver {
  virtual ~ExecutorObserver() = default;
  /// Called once for each op of a plan, in order, before any of them runs. `op` may have the address of an op of an
  /// earlier executor that was destroyed.
  virtual void bound(mlir::Operation *op, int64_t index) {}
  virtual void before(mlir::Operation *op, int64_t index, Stream &stream) {}
  virtual void after(mlir::Operation *op, int64_t index, Stream &stream) {}
  /// Called when all enqueued work has been done. An error is returned by Executor::wait.
  virtual absl::Status waited() { return absl::OkStatus(); }
};

class Executor {
public:
  /// Binds the plans of `plans`, a module at the plan level, which the executor does not read later. It allocates the
  /// module's spaces, one copy for ranks that share a space and can share memory, and zeroes the kept ones. Every rank
  /// of the communicator calls this at the same point. Device, communicator and observer are borrowed.
  ///   With `needsOneCopy` it returns null on all ranks if ranks have memory in common and still cannot have one copy
  ///   of a space that they share. No rank has then allocated a copy of its own.
  ///   Errors  those of the device and of Groups::create; InvalidArgument: the plan is for another number of ranks, or
  ///           has variables and does not say for which rank it is.
  static absl::StatusOr<std::unique_ptr<Executor>> bind(mlir::ModuleOp plans, Device &device,
                                                        Communicator &communicator,
                                                        ExecutorObserver *observer = nullptr,
                                                        bool needsOneCopy = false);
  ~Executor();

  /// Enqueues one run of a plan behind all work that was enqueued before. After an error, of this or any other call,
  /// destroy the executor: nothing else may be done with it.
  ///   Errors  NotFound: the module has no such plan.
  absl::Status enqueue(const std::string &plan);
  /// Enqueue a copy between a range and as many bytes of host memory from Device::allocateHost, which the caller does
  /// not touch before wait() has returned.
  absl::Status enqueueUpload(exec::RangeAttr to, std::byte *from);
  absl::Status enqueueDownload(std::byte *to, exec::RangeAttr from);
  /// Blocks until all enqueued work has been done.
  absl::Status wait();
  /// Calls enqueue() and wait().
  absl::Status run(const std::string &plan);

  /// Returns the memory of a range, whose contents are as the last run or the caller left them. The executor owns it.
  Buffer resolve(exec::RangeAttr range) const;
  /// Returns all of a space, which the module must declare.
  Buffer space(llvm::StringRef name) const { return spaces.lookup(name); }
  /// Returns whether this rank sets the contents of the range before plans run. If ranks have one copy of its space,
  /// only the first of them does.
  bool sets(exec::RangeAttr range) const { return spacesOfOthers.count(range.getSpace()) == 0; }
  /// Returns whether ranks have one copy of a space.
  bool isShared(llvm::StringRef space) const { return shared.contains(space); }
  /// Returns the bytes of all spaces of which ranks have one copy.
  int64_t sharedBytes() const;
  /// Returns a message for the user: why ranks that have memory in common do not have one copy of a space. It is empty
  /// if they do.
  const std::string &whyNotShared() const { return notShared; }

private:
  struct Step {
    mlir::Operation *op = nullptr;
    Stream *stream = nullptr;              ///< where the op's work goes
    std::function<absl::Status()> prepare; ///< makes the stream wait for what the op needs; null: it need not wait
    std::function<absl::Status()> run;
  };

  Executor(Device &device, ExecutorObserver *observer) : device(device), observer(observer) {}

  absl::Status share(mlir::ModuleOp plans, Communicator &root);
  absl::Status share(exec::SpaceOp space, int64_t ownBytes, Communicator &group);
  absl::Status allocate(mlir::ModuleOp plans);
  absl::Status allocate(exec::SpaceOp space);
  absl::Status populate();
  absl::Status loadKernels(mlir::ModuleOp plans);
  absl::Status bindPlan(exec::PlanOp plan);
  absl::StatusOr<Step> bindOp(mlir::Operation *op);
  absl::StatusOr<std::function<absl::Status()>> bindCompute(mlir::Operation *op, Stream *compute);
  absl::StatusOr<std::function<absl::Status()>>
  bindLaunch(std::unique_ptr<Launchable> launchable, mlir::ArrayAttr reads, mlir::ArrayAttr writes, Stream *compute);
  absl::StatusOr<Step> bindCollective(exec::CollectiveOp op, Stream *compute);
  using Start = std::function<absl::StatusOr<Event>()>;
  absl::StatusOr<Start> bindStart(exec::CollectiveOp op);
  absl::Status registerMemory(mlir::ModuleOp plans);
  absl::StatusOr<Stream *> streamOf(llvm::StringRef name);

  Device &device;
  ExecutorObserver *observer;
  llvm::StringMap<Buffer> spaces;
  /// A space of which ranks have one copy.
  struct SharedSpace {
    std::unique_ptr<SharedMemory> memory;
    SharedView blocksOfOthers;
  };
  llvm::StringMap<std::unique_ptr<SharedSpace>> shared;
  llvm::StringSet<> spacesOfOthers; ///< the shared spaces in whose group this rank is not the first
  std::string notShared;
  /// Spaces that get their pages when a plan first runs, since by then the memory that compiling took is free.
  std::vector<Buffer> untouched;
  std::unique_ptr<KernelLibrary> kernels;
  std::vector<std::unique_ptr<Launchable>> launchables;
  /// Those of them that are library calls, and where the user's program has what they compute (placeOf).
  std::vector<std::pair<Launchable *, std::string>> calls;
  std::map<std::string, std::unique_ptr<Stream>> streams;
  std::unique_ptr<Groups> groups;
  std::vector<std::unique_ptr<Registration>> registrations;
  std::map<int64_t, Event> underWay; ///< the collectives in flight, by ticket
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
