// The times of points in CUDA's streams, by events.
#include "runtime/cuda/CudaClock.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/cuda/CudaStream.h"

#include <cmath>
#include <utility>

namespace splitcast::runtime {
namespace {

/// CUDA tells how far two events are apart, as milliseconds in f32: so the
/// distances are those to the last mark of the times before, not to the first of
/// all, which would lose digits.
class CudaClock final : public StreamClock {
public:
  /// Compares the clocks of the host and the device.
  absl::Status start() {
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, createCudaStream("clock"));
    SPLITCAST_RETURN_IF_ERROR(mark(*stream));
    SPLITCAST_RETURN_IF_ERROR(stream->synchronize());
    origin = std::move(marks.front());
    marks.clear();
    originTime = now();
    return absl::OkStatus();
  }

  absl::Status mark(Stream &stream) override {
    if (unused.empty()) {
      cudaEvent_t event = nullptr;
      SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaEventCreateWithFlags(&event, cudaEventDefault), "creating an event"));
      unused.push_back(std::make_unique<CudaEvent>(event));
    }
    marks.push_back(std::move(unused.back()));
    unused.pop_back();
    return cudaStatus(cudaEventRecord(marks.back()->get(), cudaStreamOf(stream)), "marking a time");
  }

  absl::StatusOr<std::vector<int64_t>> times() override {
    std::vector<int64_t> times;
    for (const std::unique_ptr<CudaEvent> &mark : marks) {
      SPLITCAST_RETURN_IF_ERROR(mark->wait());
      float milliseconds = 0;
      SPLITCAST_RETURN_IF_ERROR(
          cudaStatus(cudaEventElapsedTime(&milliseconds, origin->get(), mark->get()), "comparing times"));
      times.push_back(originTime + std::llround(double{milliseconds} * 1e6));
    }
    if (!marks.empty()) {
      std::swap(origin, marks.back());
      originTime = times.back();
    }
    for (std::unique_ptr<CudaEvent> &mark : marks)
      unused.push_back(std::move(mark));
    marks.clear();
    return times;
  }

private:
  std::unique_ptr<CudaEvent> origin; ///< at originTime
  int64_t originTime = 0;
  std::vector<std::unique_ptr<CudaEvent>> marks, unused;
};

} // namespace

absl::StatusOr<std::unique_ptr<StreamClock>> createCudaClock() {
  auto clock = std::make_unique<CudaClock>();
  absl::Status status = clock->start();
  return status.ok() ? absl::StatusOr<std::unique_ptr<StreamClock>>(std::move(clock)) : status;
}

} // namespace splitcast::runtime
