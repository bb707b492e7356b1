// CUDA's streams and events.
#include "runtime/cuda/CudaStream.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/process/Patience.h"

#include "absl/time/clock.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace splitcast::runtime {
namespace {

/// How long a destructor waits for work that was given up.
constexpr absl::Duration kPatience = absl::Seconds(5);

} // namespace

CudaEvent::~CudaEvent() {
  if (event)
    cudaEventDestroy(event);
}

absl::StatusOr<Event> recordCudaEvent(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  absl::Status status = cudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
  SPLITCAST_RETURN_IF_ERROR(status);
  auto result = std::make_shared<CudaEvent>(event);
  status = cudaStatus(cudaEventRecord(event, stream), "recording an event");
  SPLITCAST_RETURN_IF_ERROR(status);
  return Event(std::move(result));
}

bool isCudaEventDone(const Event &event) {
  return cudaEventQuery(static_cast<CudaEvent &>(*event).get()) != cudaErrorNotReady;
}

namespace {

std::vector<std::weak_ptr<CudaWatcher>> &watchers() {
  static auto *all = new std::vector<std::weak_ptr<CudaWatcher>>;
  return *all;
}

absl::Status askWatchers(absl::Duration waited) {
  absl::Status status;
  for (const std::weak_ptr<CudaWatcher> &watcher : watchers())
    if (std::shared_ptr<CudaWatcher> alive = watcher.lock())
      status.Update(alive->check(waited));
  for (const std::weak_ptr<CudaWatcher> &watcher : watchers())
    if (std::shared_ptr<CudaWatcher> alive = status.ok() ? nullptr : watcher.lock())
      alive->abandon(status);
  return status;
}

/// Waits until `query` no longer returns cudaErrorNotReady. Meanwhile the
/// watchers check their collectives.
template <typename Query> absl::Status waitAndWatch(Query query, const std::string &what) {
  Patience patience(absl::InfiniteDuration());
  cudaError_t state = query();
  for (; state == cudaErrorNotReady; state = query()) {
    (void)patience.isOver();
    SPLITCAST_RETURN_IF_ERROR(askWatchers(patience.waitedFor()));
    std::this_thread::yield();
  }
  absl::Status status = cudaStatus(state, what);
  status.Update(askWatchers(absl::ZeroDuration()));
  return status;
}

} // namespace

absl::Status CudaEvent::wait() {
  return waitAndWatch([this] { return cudaEventQuery(event); }, "waiting for an event");
}

void addCudaWatcher(std::weak_ptr<CudaWatcher> watcher) {
  std::vector<std::weak_ptr<CudaWatcher>> &all = watchers();
  all.erase(std::remove_if(all.begin(), all.end(), [](const auto &other) { return other.expired(); }), all.end());
  all.push_back(std::move(watcher));
}

CudaStream::~CudaStream() {
  if (!stream)
    return;
  // After an error the collectives are aborted, and the work that waits for
  // them goes on. If the device hangs all the same, its work is abandoned.
  const absl::Time end = synchronize().ok() ? absl::InfinitePast() : absl::Now() + kPatience;
  while (absl::Now() < end && cudaStreamQuery(stream) == cudaErrorNotReady)
    absl::SleepFor(absl::Milliseconds(1));
  cudaStreamDestroy(stream);
}

absl::Status CudaStream::waitFor(const Event &event) {
  auto *fired = dynamic_cast<CudaEvent *>(event.get());
  if (!fired)
    return absl::InvalidArgumentError("a CUDA stream cannot wait for an event of another backend");
  return cudaStatus(cudaStreamWaitEvent(stream, fired->get(), 0), absl::StrCat("stream '", name, "'"));
}

absl::StatusOr<Event> CudaStream::record() { return recordCudaEvent(stream); }

absl::Status CudaStream::synchronize() {
  return waitAndWatch([this] { return cudaStreamQuery(stream); }, absl::StrCat("work of stream '", name, "'"));
}

absl::StatusOr<std::unique_ptr<Stream>> createCudaStream(const std::string &name) {
  cudaStream_t stream = nullptr;
  SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                       absl::StrCat("creating stream '", name, "'")));
  return std::make_unique<CudaStream>(stream, name);
}

cudaStream_t cudaStreamOf(Stream &stream) { return static_cast<CudaStream &>(stream).get(); }

} // namespace splitcast::runtime
