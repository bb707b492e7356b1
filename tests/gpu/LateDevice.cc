#include "tests/gpu/LateDevice.h"

#include "dialects/exec/Exec.h"
#include "runtime/api/ForwardingCommunicator.h"

#include "absl/strings/str_cat.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace splitcast::gpu_tests {
namespace {

using runtime::Buffer;
using runtime::CallSite;
using runtime::Communicator;
using runtime::Device;
using runtime::Event;
using runtime::ForwardingCommunicator;
using runtime::KernelLibrary;
using runtime::Launchable;
using runtime::SharedMemory;
using runtime::Stream;

using Task = std::function<absl::Status()>;

struct Queue;

/// Collectives start in the order in which they were given to streams, also to different ones: a rank that starts them
/// in another order than the others waits for one that nobody else has come to. (NCCL_LAUNCH_ORDER_IMPLICIT on GPUs.)
class StartOrder {
public:
  /// Those before `number` have been started.
  absl::Status startBefore(size_t number);
  /// Of the task that `queue` gets next.
  size_t add(std::shared_ptr<Queue> queue);

private:
  struct Collective {
    std::shared_ptr<Queue> queue;
    int64_t position;
  };
  std::vector<Collective> collectives;
  size_t next = 0; ///< those before it have been started
};

/// What streams were given while it was captured, in that order.
struct Captured {
  struct Step {
    std::shared_ptr<Queue> queue;
    Task task;                         ///< none: the point of an event, or a wait for one
    std::shared_ptr<StartOrder> order; ///< of a collective
    int64_t point = -1;                ///< an event that is recorded here
    int64_t waitsFor = -1;             ///< an event
  };
  std::vector<Step> steps;
  int64_t points = 0;
};

/// The work of one stream. Events, which may outlive the stream, share it.
struct Queue {
  explicit Queue(bool early) : early(early) {}

  /// `order`: of a collective.
  void add(Task task, const std::shared_ptr<StartOrder> &order = nullptr) {
    if (capture)
      return capture->steps.push_back({self.lock(), std::move(task), order});
    if (order)
      task = [order, number = order->add(self.lock()), task = std::move(task)] {
        absl::Status status = order->startBefore(number);
        return status.ok() ? task() : status;
      };
    tasks.push_back(std::move(task));
    ++added;
    if (early)
      (void)runUntil(added); // an error is kept
  }

  /// Once a task has failed, none is run.
  absl::Status runUntil(int64_t position) {
    while (done < position && error.ok()) {
      Task task = std::move(tasks.front());
      tasks.pop_front();
      ++done;
      error.Update(task());
    }
    return error;
  }

  const bool early;
  std::weak_ptr<Queue> self;
  Captured *capture = nullptr; ///< where work goes instead
  std::deque<Task> tasks;
  int64_t added = 0, done = 0;
  absl::Status error;
};

size_t StartOrder::add(std::shared_ptr<Queue> queue) {
  const int64_t position = queue->added;
  collectives.push_back({std::move(queue), position});
  return collectives.size() - 1;
}

absl::Status StartOrder::startBefore(size_t number) {
  for (; next < number; ++next) {
    const Collective collective = collectives[next];
    if (absl::Status status = collective.queue->runUntil(collective.position + 1); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

/// Of work that is being captured; it has happened in no run.
class CapturedEvent final : public runtime::EventState {
public:
  CapturedEvent(Captured *capture, int64_t point) : capture(capture), point(point) {}
  absl::Status wait() override { return absl::FailedPreconditionError("the host waits for work that is captured"); }

  Captured *const capture;
  const int64_t point;
};

class LateEvent final : public runtime::EventState {
public:
  LateEvent(std::shared_ptr<Queue> queue, int64_t position) : queue(std::move(queue)), position(position) {}
  absl::Status wait() override { return queue->runUntil(position); }

private:
  std::shared_ptr<Queue> queue;
  int64_t position;
};

class LateStream final : public Stream {
public:
  explicit LateStream(bool early) : queue(std::make_shared<Queue>(early)) { queue->self = queue; }
  absl::Status waitFor(const Event &event) override {
    if (auto *captured = dynamic_cast<CapturedEvent *>(event.get())) {
      queue->capture = captured->capture; // as on GPUs: a stream that waits for captured work is captured
      queue->capture->steps.push_back({queue, {}, nullptr, -1, captured->point});
      return absl::OkStatus();
    }
    if (queue->capture)
      return absl::FailedPreconditionError("captured work waits for an event of before");
    queue->add([event] { return event->wait(); });
    return absl::OkStatus();
  }
  absl::StatusOr<Event> record() override {
    if (!queue->capture)
      return Event(std::make_shared<LateEvent>(queue, queue->added));
    queue->capture->steps.push_back({queue, {}, nullptr, queue->capture->points});
    return Event(std::make_shared<CapturedEvent>(queue->capture, queue->capture->points++));
  }
  absl::Status synchronize() override {
    if (queue->capture)
      return absl::FailedPreconditionError("the host waits for a stream that is captured");
    return queue->runUntil(queue->added);
  }

  const std::shared_ptr<Queue> queue;
};

Queue &queueOf(Stream &stream) { return *static_cast<LateStream &>(stream).queue; }

class LateWork final : public runtime::CapturedWork {
public:
  explicit LateWork(std::unique_ptr<Captured> captured) : captured(std::move(captured)) {}

  absl::Status replay(Stream &stream) override {
    Queue &first = queueOf(stream);
    const Event begin = std::make_shared<LateEvent>(first.self.lock(), first.added);
    std::map<Queue *, bool> waits; // for what came before
    std::vector<Event> events(captured->points);
    for (const Captured::Step &step : captured->steps) {
      Queue &queue = *step.queue;
      if (&queue != &first && !std::exchange(waits[&queue], true))
        queue.add([begin] { return begin->wait(); });
      if (step.point >= 0)
        events[step.point] = std::make_shared<LateEvent>(step.queue, queue.added);
      else if (step.waitsFor >= 0)
        queue.add([event = events[step.waitsFor]] { return event->wait(); });
      else
        queue.add(step.task, step.order);
    }
    return absl::OkStatus();
  }

private:
  const std::unique_ptr<Captured> captured;
};

class LateLaunchable final : public Launchable {
public:
  LateLaunchable(std::unique_ptr<Launchable> inner, std::shared_ptr<Stream> innerStream)
      : inner(std::move(inner)), innerStream(std::move(innerStream)) {}
  int64_t workspaceBytes() const override { return inner->workspaceBytes(); }
  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    queueOf(stream).add([this, kept = std::vector<Buffer>(buffers.begin(), buffers.end())] {
      return inner->launch(kept, *innerStream);
    });
    return absl::OkStatus();
  }

private:
  std::unique_ptr<Launchable> inner;
  std::shared_ptr<Stream> innerStream;
};

absl::StatusOr<std::unique_ptr<Launchable>> late(absl::StatusOr<std::unique_ptr<Launchable>> inner,
                                                 const std::shared_ptr<Stream> &stream) {
  if (!inner.ok())
    return inner;
  return std::make_unique<LateLaunchable>(*std::move(inner), stream);
}

class LateKernels final : public KernelLibrary {
public:
  LateKernels(std::unique_ptr<KernelLibrary> inner, std::shared_ptr<Stream> stream)
      : inner(std::move(inner)), stream(std::move(stream)) {}
  absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &name) override {
    return late(inner->kernel(name), stream);
  }

private:
  std::unique_ptr<KernelLibrary> inner;
  std::shared_ptr<Stream> stream;
};

class LateDevice final : public Device {
public:
  LateDevice(Device &inner, Early early) : inner(inner), early(early) {}

  std::string kind() const override { return inner.kind(); }
  absl::StatusOr<Buffer> allocate(int64_t bytes) override { return inner.allocate(bytes); }
  void release(Buffer buffer) override { inner.release(buffer); }
  absl::StatusOr<Buffer> allocateHost(int64_t bytes) override { return inner.allocateHost(bytes); }
  void releaseHost(Buffer buffer) override { inner.releaseHost(buffer); }
  int64_t scratchBytes() const override { return inner.scratchBytes(); }

  absl::StatusOr<std::unique_ptr<Stream>> createStream(const std::string &name) override {
    auto stream = std::make_unique<LateStream>(early == (name == "compute" ? Early::Compute : Early::OtherStreams));
    queues.push_back(stream->queue);
    return stream;
  }
  absl::StatusOr<std::unique_ptr<KernelLibrary>> loadKernels(mlir::ModuleOp kernels) override {
    absl::StatusOr<std::unique_ptr<KernelLibrary>> library = inner.loadKernels(kernels);
    if (!library.ok() || !atOnce().ok())
      return library.ok() ? atOnce() : library.status();
    return std::make_unique<LateKernels>(*std::move(library), innerStream);
  }
  absl::StatusOr<std::unique_ptr<Launchable>> libraryCall(exec::LibraryCallAttrInterface call) override {
    if (absl::Status status = atOnce(); !status.ok())
      return status;
    return late(inner.libraryCall(call), innerStream);
  }

  absl::Status copy(Buffer to, Buffer from, Stream &stream) override {
    return later(stream, [this, to, from] { return inner.copy(to, from, *innerStream); });
  }
  absl::Status clear(Buffer buffer, Stream &stream) override {
    return later(stream, [this, buffer] { return inner.clear(buffer, *innerStream); });
  }
  absl::Status upload(Buffer to, const void *from) override {
    absl::Status status = checkIdle();
    return status.ok() ? inner.upload(to, from) : status;
  }
  absl::Status download(void *to, Buffer from) override {
    absl::Status status = checkIdle();
    return status.ok() ? inner.download(to, from) : status;
  }

  absl::StatusOr<std::unique_ptr<runtime::CapturedWork>> capture(Stream &stream,
                                                                 absl::FunctionRef<absl::Status()> enqueue) override {
    auto captured = std::make_unique<Captured>();
    Queue &first = queueOf(stream);
    first.capture = captured.get();
    absl::Status status = enqueue();
    for (const std::shared_ptr<Queue> &queue : queues)
      if (std::exchange(queue->capture, nullptr) && queue.get() != &first)
        status.Update(checkJoined(*captured, queue, first));
    if (!status.ok())
      return status;
    return std::make_unique<LateWork>(std::move(captured));
  }

private:
  /// The last work of a stream that was captured comes before an event that `first` waits for.
  static absl::Status checkJoined(const Captured &captured, const std::shared_ptr<Queue> &queue, const Queue &first) {
    int64_t lastWork = -1, lastPoint = -1;
    std::set<int64_t> waited;
    for (const auto &[index, step] : llvm::enumerate(captured.steps)) {
      if (step.queue == queue && step.point < 0)
        lastWork = static_cast<int64_t>(index);
      if (step.queue.get() == &first && step.waitsFor >= 0)
        waited.insert(step.waitsFor);
    }
    for (const auto &[index, step] : llvm::enumerate(captured.steps))
      if (step.queue == queue && waited.count(step.point))
        lastPoint = static_cast<int64_t>(index);
    return lastPoint > lastWork ? absl::OkStatus()
                                : absl::FailedPreconditionError("a stream that was captured was not waited for");
  }

  /// The stream of the inner device, which runs at once.
  absl::Status atOnce() {
    if (innerStream)
      return absl::OkStatus();
    absl::StatusOr<std::unique_ptr<Stream>> stream = inner.createStream("at once");
    if (stream.ok())
      innerStream = *std::move(stream);
    return stream.status();
  }
  absl::Status later(Stream &stream, Task task) {
    absl::Status status = atOnce();
    if (status.ok())
      queueOf(stream).add(std::move(task));
    return status;
  }
  /// A copy of the host is ordered with no stream.
  absl::Status checkIdle() const {
    for (const std::shared_ptr<Queue> &queue : queues)
      if (queue->done < queue->added)
        return absl::FailedPreconditionError("the host copies while work is pending: a stream was not synchronized");
    return absl::OkStatus();
  }

  Device &inner;
  const Early early;
  std::shared_ptr<Stream> innerStream;
  std::vector<std::shared_ptr<Queue>> queues;
};

class LateCommunicator final : public ForwardingCommunicator {
public:
  explicit LateCommunicator(Communicator &inner)
      : ForwardingCommunicator(inner), order(std::make_shared<StartOrder>()) {}
  LateCommunicator(std::unique_ptr<Communicator> group, std::shared_ptr<StartOrder> order)
      : ForwardingCommunicator(std::move(group)), order(std::move(order)) {}

  absl::StatusOr<std::unique_ptr<SharedMemory>> shareMemory(int64_t bytes, const CallSite &site) override {
    absl::Status status = finish();
    return status.ok() ? inner.shareMemory(bytes, site) : status;
  }
  absl::Status barrier(const CallSite &site) override {
    absl::Status status = finish();
    return status.ok() ? inner.barrier(site) : status;
  }
  absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) override {
    absl::Status status = finish();
    return status.ok() ? inner.exchange(mine, site) : status;
  }
  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks, const CallSite &site) override {
    if (absl::Status status = finish(); !status.ok())
      return status;
    absl::StatusOr<std::unique_ptr<Communicator>> group = inner.split(ranks, site);
    if (!group.ok())
      return group.status();
    return std::make_unique<LateCommunicator>(*std::move(group), order);
  }

private:
  absl::StatusOr<Event> forward(Buffers buffers, Stream &stream, const Start &start) override {
    queueOf(stream).add(
        [start, copies = std::vector<Buffer>(buffers.begin(), buffers.end()), &stream]() -> absl::Status {
          absl::StatusOr<Event> event = start(copies, stream);
          return event.ok() ? (*event)->wait() : event.status();
        },
        order);
    absl::StatusOr<Event> event = stream.record();
    if (!queueOf(stream).capture)
      last = *event;
    return event;
  }
  absl::Status finish() { return last ? last->wait() : absl::OkStatus(); }

  std::shared_ptr<StartOrder> order; ///< of this rank
  Event last;
};

} // namespace

std::unique_ptr<Device> createLateDevice(Device &inner, Early early) {
  return std::make_unique<LateDevice>(inner, early);
}

std::unique_ptr<Communicator> createLateCommunicator(Communicator &inner) {
  return std::make_unique<LateCommunicator>(inner);
}

} // namespace splitcast::gpu_tests
