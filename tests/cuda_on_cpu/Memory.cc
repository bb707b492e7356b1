#include "tests/cuda_on_cpu/Memory.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr int kPattern = 0xA5;

int64_t deviceLimit() {
  int64_t bytes = 0;
  const char *value = std::getenv("SPLITCAST_CUDA_ON_CPU_BYTES");
  return value && absl::SimpleAtoi(value, &bytes) ? bytes : INT64_MAX;
}

} // namespace

Memory &Memory::get() {
  static auto *memory = new Memory;
  return *memory;
}

void *Memory::allocate(size_t bytes, size_t alignment, MemoryKind kind) {
  static const int64_t limit = deviceLimit();
  std::lock_guard<std::mutex> lock(mutex);
  const bool isDevice = kind == MemoryKind::Device;
  if (isDevice && static_cast<int64_t>(bytes) > limit - now)
    return nullptr;
  const size_t whole = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void *data = std::aligned_alloc(alignment, whole);
  if (!data)
    return nullptr;
  std::memset(data, kPattern, whole);
  allocations[reinterpret_cast<uint64_t>(data)] = {bytes, kind};
  if (isDevice)
    most = std::max(most, now += static_cast<int64_t>(bytes));
  return data;
}

bool Memory::release(void *data, MemoryKind kind) {
  if (!data)
    return true;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = allocations.find(reinterpret_cast<uint64_t>(data));
  if (found == allocations.end() || found->second.kind != kind)
    return false;
  if (kind == MemoryKind::Device)
    now -= static_cast<int64_t>(found->second.bytes);
  allocations.erase(found);
  std::free(data);
  return true;
}

GlobalMemory::Range Memory::rangeOf(uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return {};
  const auto &[begin, allocation] = *std::prev(next);
  return address < begin + allocation.bytes ? Range{begin, begin + allocation.bytes} : Range{};
}

absl::Status Memory::check(const void *data, size_t bytes, absl::string_view what) const {
  if (bytes == 0)
    return absl::OkStatus();
  const auto address = reinterpret_cast<uint64_t>(data);
  const Range range = rangeOf(address);
  if (range.end != 0 && bytes <= range.end - address)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", bytes, " bytes at 0x", absl::Hex(address),
                                                 " do not lie in memory that the device sees; the allocation there "
                                                 "has ",
                                                 range.end == 0 ? 0 : range.end - address, " bytes from there"));
}

int64_t Memory::deviceBytes() const {
  std::lock_guard<std::mutex> lock(mutex);
  return now;
}

int64_t Memory::mostDeviceBytes() const {
  std::lock_guard<std::mutex> lock(mutex);
  return most;
}

} // namespace splitcast::cuda_on_cpu
