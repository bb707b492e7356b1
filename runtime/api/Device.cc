#include "runtime/api/Device.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace splitcast::runtime {

absl::StatusOr<Buffer> Device::allocateHost(int64_t bytes) {
  if (bytes < 0)
    return absl::InvalidArgumentError(absl::StrCat("cannot allocate ", bytes, " bytes of host memory; the least is 0"));
  // For large sizes, calloc() maps fresh pages, which the system zeroes when
  // they are first touched.
  void *memory = std::calloc(std::max<int64_t>(bytes, 1), 1);
  if (!memory)
    return absl::ResourceExhaustedError(absl::StrCat("the system could not allocate ", bytes, " bytes of host memory"));
  return Buffer{static_cast<std::byte *>(memory), bytes};
}

void Device::releaseHost(Buffer buffer) { std::free(buffer.data); }

int64_t StreamClock::now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

namespace {

/// For streams that have always done their work.
class CallClock final : public StreamClock {
public:
  absl::Status mark(Stream &) override {
    marks.push_back(now());
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<int64_t>> times() override { return std::exchange(marks, {}); }

private:
  std::vector<int64_t> marks;
};

} // namespace

absl::StatusOr<std::unique_ptr<StreamClock>> Device::createClock() { return std::make_unique<CallClock>(); }

} // namespace splitcast::runtime
