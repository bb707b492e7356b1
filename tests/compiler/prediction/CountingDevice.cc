#include "tests/compiler/prediction/CountingDevice.h"

#include "dialects/exec/Exec.h"
#include "runtime/host/HostDevice.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace splitcast::prediction {

CountingDevice::CountingDevice(const std::string &objectCacheDir)
    : host(runtime::createHostDevice({1, objectCacheDir, /*guardPages=*/true})) {}

int64_t CountingDevice::heldBytes() const {
  int64_t bytes = 0;
  for (const auto &[data, count] : held)
    bytes += count;
  return bytes;
}

int64_t CountingDevice::untouchedBytes() const {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  int64_t untouched = 0;
  for (const auto &[data, bytes] : held) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
    const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes + page - 1) / page * page;
    std::vector<unsigned char> isResident((end - begin) / page);
    if (mincore(reinterpret_cast<void *>(begin), end - begin, isResident.data()) != 0) {
      untouched += bytes; // the system does not say: as bad as untouched
      continue;
    }
    untouched += static_cast<int64_t>(page) * std::count_if(isResident.begin(), isResident.end(),
                                                            [](unsigned char flags) { return (flags & 1) == 0; });
  }
  return untouched;
}

absl::StatusOr<runtime::Buffer> CountingDevice::note(absl::StatusOr<runtime::Buffer> made) {
  if (made.ok() && made->bytes > 0)
    held[made->data] = made->bytes;
  return made;
}

void CountingDevice::release(runtime::Buffer buffer) {
  held.erase(buffer.data);
  host->release(buffer);
}

void CountingDevice::releaseHost(runtime::Buffer buffer) {
  held.erase(buffer.data);
  host->releaseHost(buffer);
}

absl::StatusOr<std::unique_ptr<runtime::Launchable>>
CountingDevice::libraryCall(splitcast::exec::LibraryCallAttrInterface call) {
  return host->libraryCall(call);
}

} // namespace splitcast::prediction
