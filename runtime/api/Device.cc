#include "runtime/api/Device.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdlib>

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

} // namespace splitcast::runtime
