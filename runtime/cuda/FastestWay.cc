#include "runtime/cuda/FastestWay.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaScratch.h"
#include "runtime/cuda/CudaStatus.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

namespace splitcast::runtime {
namespace {

/// Each way is timed in this many tries, of this many runs one after the other,
/// and the shortest try counts. A gain of less than 1 % is ignored: it may be
/// chance.
constexpr int kTries = 3, kInARow = 6;
constexpr double kGain = 0.99;
/// Results are compared in pieces of this size.
constexpr int64_t kPieceBytes = int64_t{16} << 20;

struct Stream {
  ~Stream() {
    if (stream)
      cudaStreamDestroy(stream);
  }
  cudaStream_t stream = nullptr;
};

/// Returns the time of one run, or infinity if the way fails.
double secondsOf(const Way &way, void *result, cudaStream_t stream) {
  double least = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    bool isDone = true;
    for (int i = 0; i < kInARow && isDone; ++i)
      isDone = way(result, stream).ok();
    if (cudaStreamSynchronize(stream) != cudaSuccess || !isDone)
      return std::numeric_limits<double>::infinity();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least / kInARow;
}

/// Page-locked memory of the host. Copies to other memory take several times as
/// long.
struct Pages {
  Pages() {
    if (cudaHostAlloc(&memory, 2 * kPieceBytes, cudaHostAllocDefault) == cudaSuccess)
      return;
    memory = nullptr;
    cudaGetLastError();
  }
  ~Pages() { cudaFreeHost(memory); }
  void *memory = nullptr;
};

absl::StatusOr<bool> isSame(const CudaScratch &one, const CudaScratch &other, const Pages &pages) {
  auto *here = static_cast<std::byte *>(pages.memory), *there = here + kPieceBytes;
  for (int64_t at = 0; at < one.bytes; at += kPieceBytes) {
    const int64_t count = std::min(kPieceBytes, one.bytes - at);
    absl::Status status = cudaStatus(cudaMemcpy(here, one.data() + at, count, cudaMemcpyDeviceToHost), "a result");
    if (status.ok())
      status = cudaStatus(cudaMemcpy(there, other.data() + at, count, cudaMemcpyDeviceToHost), "a result");
    SPLITCAST_RETURN_IF_ERROR(status);
    if (std::memcmp(here, there, count) != 0)
      return false;
  }
  return true;
}

/// Runs the way once, on a result that was zero before.
absl::Status computeOnce(const Way &way, const CudaScratch &result, cudaStream_t stream) {
  absl::Status status = cudaStatus(cudaMemsetAsync(result.data(), 0, result.bytes, stream), "a result");
  if (status.ok())
    status = way(result.data(), stream);
  return status.ok() ? cudaStatus(cudaStreamSynchronize(stream), "waiting for a result") : status;
}

} // namespace

absl::StatusOr<size_t> fastestOfSameBits(absl::Span<const Way> ways, int64_t bytes) {
  const CudaScratch first(bytes), other(bytes);
  const Pages pages;
  if (ways.size() < 2 || !first.data() || !other.data() || !pages.memory)
    return 0;
  Stream on;
  absl::Status status = cudaStatus(cudaStreamCreateWithFlags(&on.stream, cudaStreamNonBlocking), "a stream");
  if (status.ok())
    status = computeOnce(ways[0], first, on.stream);
  SPLITCAST_RETURN_IF_ERROR(status);
  std::vector<std::pair<double, size_t>> byTime;
  for (size_t number = 0; number < ways.size(); ++number)
    if (number == 0 || computeOnce(ways[number], other, on.stream).ok())
      byTime.emplace_back(secondsOf(ways[number], other.data(), on.stream), number);
  const double bound = byTime.front().first * kGain;
  std::sort(byTime.begin(), byTime.end());
  for (const auto &[seconds, number] : byTime) {
    if (number == 0 || seconds >= bound)
      break;
    if (!computeOnce(ways[number], other, on.stream).ok())
      continue;
    SPLITCAST_ASSIGN_OR_RETURN(bool same, isSame(first, other, pages));
    if (same)
      return number;
  }
  return 0;
}

} // namespace splitcast::runtime
