//===- SuiteSupport.h - Buffers, blocks and values for the suites ----------===//
#ifndef SPLITCAST_TESTS_RUNTIME_CONFORMANCE_SUITESUPPORT_H
#define SPLITCAST_TESTS_RUNTIME_CONFORMANCE_SUITESUPPORT_H

#include "dialects/sbp/algebra/Sizes.h"
#include "tests/runtime/conformance/NullStream.h"
#include "tests/runtime/conformance/Registry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace splitcast::runtime::conformance {

/// Creates a communicator of all ranks, over a transport of its own.
inline std::unique_ptr<Communicator> createCommunicator(RankContext &context,
                                                        HostCommunicatorOptions options = {absl::Seconds(20)}) {
  return context.createCommunicator(options);
}

/// Whether this rank has sent `expected` since `before`. It is true if the backend cannot measure this.
inline bool hasSent(const RankContext &context, const std::optional<ccl::Traffic> &before, ccl::Traffic expected) {
  const std::optional<ccl::Traffic> now = context.sent();
  return !now ||
         (now->bytes - before->bytes == expected.bytes && now->messages - before->messages == expected.messages);
}

/// Memory of `bytes` bytes between guards that nothing may write.
class GuardedBuffer {
public:
  explicit GuardedBuffer(int64_t bytes) : bytes(bytes), source(nextSource()), heap(source ? 0 : allBytes()) {
    memory = source ? *source->allocate(allBytes()) : Buffer{heap.data(), allBytes()};
    std::fill(memory.data, memory.data + memory.bytes, kGuard);
    uintptr_t address = reinterpret_cast<uintptr_t>(memory.data);
    begin = sbp::alignUp(address + kGuardBytes, kGuardBytes) - address;
  }
  GuardedBuffer(GuardedBuffer &&other) noexcept
      : bytes(other.bytes), begin(other.begin), source(std::move(other.source)), heap(std::move(other.heap)),
        memory(other.memory) {}
  GuardedBuffer &operator=(GuardedBuffer &&other) noexcept {
    std::swap(bytes, other.bytes);
    std::swap(begin, other.begin);
    std::swap(source, other.source);
    std::swap(heap, other.heap);
    std::swap(memory, other.memory);
    return *this;
  }
  ~GuardedBuffer() {
    if (source)
      source->release(memory);
  }
  Buffer buffer() { return memory.slice(begin, bytes); }
  template <typename T> T *as() { return reinterpret_cast<T *>(memory.data + begin); }
  bool isIntact() const {
    auto untouched = [](std::byte value) { return value == kGuard; };
    return std::all_of(memory.data, memory.data + begin, untouched) &&
           std::all_of(memory.data + begin + bytes, memory.data + memory.bytes, untouched);
  }

private:
  static constexpr int64_t kGuardBytes = 64;
  static constexpr std::byte kGuard{0xA5};
  int64_t allBytes() const { return bytes + 3 * kGuardBytes; }
  /// Every third buffer is on the heap, whatever the backend. On other ranks it may be another one.
  static std::shared_ptr<HostMemory> nextSource() {
    static int made = 0;
    return ++made % 3 ? suiteMemory() : nullptr;
  }

  int64_t bytes;
  int64_t begin = 0;
  std::shared_ptr<HostMemory> source; ///< null if the buffer is in `heap`
  std::vector<std::byte> heap;
  Buffer memory;
};

using Blocks = std::vector<int64_t>;

inline int64_t total(const Blocks &blocks) { return std::accumulate(blocks.begin(), blocks.end(), int64_t{0}); }
inline int64_t beginOf(const Blocks &blocks, int64_t rank) {
  return std::accumulate(blocks.begin(), blocks.begin() + rank, int64_t{0});
}
inline Blocks times(Blocks blocks, int64_t factor) {
  for (int64_t &block : blocks)
    block *= factor;
  return blocks;
}

/// Returns patterns of the number of elements per rank: even, ragged, some empty, all but one empty, all empty, and
/// close to whole chunks of elements of `elementBytes` bytes.
inline std::vector<Blocks> blockPatterns(int64_t size, int64_t elementBytes) {
  std::vector<Blocks> patterns(5, Blocks(size));
  for (int64_t rank = 0; rank < size; ++rank) {
    patterns[0][rank] = 6;
    patterns[1][rank] = 3 * rank + 1;
    patterns[2][rank] = rank % 2 * 100;
    patterns[3][rank] = rank == size - 1 ? 1000 : 0;
  }
  const int64_t chunk = ccl::kChunkBytes / elementBytes;
  const Blocks around = {chunk + 1, chunk, 2 * chunk + 3, chunk - 1, 3 * chunk};
  for (size_t shift = 0; shift < around.size(); shift += 3) {
    patterns.push_back({});
    for (int64_t rank = 0; rank < size; ++rank)
      patterns.back().push_back(around[(rank + shift) % around.size()]);
  }
  return patterns;
}

/// Returns a small integer, so that sums in any order are exact.
inline int64_t integerAt(int64_t rank, int64_t index) { return (index * 7 + rank * 13) % 101 - 50; }
inline int64_t integerSum(int64_t size, int64_t index) {
  int64_t sum = 0;
  for (int64_t rank = 0; rank < size; ++rank)
    sum += integerAt(rank, index);
  return sum;
}

/// Returns a float with a magnitude over six powers of ten and either sign, so that sums depend on the order.
inline double roughAt(int64_t rank, int64_t index) {
  uint64_t bits = (rank + 1) * 0x9E3779B97F4A7C15u + index * 0xD1B54A32D192ED03u;
  bits = (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9u;
  bits ^= bits >> 32;
  double magnitude = static_cast<double>(bits >> 11 | 1) * 0x1p-53;
  for (uint64_t power = 0; power < bits % 7; ++power)
    magnitude *= 10;
  return bits & 1024 ? -magnitude : magnitude;
}

/// Computes a sum in the tree of Communicator.h, directly by its definition: a binary counter whose place h holds a sum
/// of 2^h addends.
template <typename T> T counterSum(absl::Span<const T> addends) {
  struct Place {
    bool taken = false;
    T sum = 0;
  };
  constexpr size_t kPlaces = 16; // up to 65535 addends
  Place counter[kPlaces], sum;
  for (T carry : addends) {
    size_t height = 0;
    for (; counter[height].taken; ++height) {
      carry = counter[height].sum + carry;
      counter[height].taken = false;
    }
    counter[height] = {true, carry};
  }
  for (const Place &place : counter)
    if (place.taken)
      sum = sum.taken ? Place{true, place.sum + sum.sum} : place;
  return sum.sum;
}

/// Waits for the event, and checks that nothing failed.
inline void finish(RankContext &context, const absl::StatusOr<Event> &event) {
  absl::Status status = event.ok() ? (*event)->wait() : event.status();
  CONFORM_EQ(status, absl::OkStatus());
}

/// A number of bf16 or f16.
template <ElementType kType> struct Small {
  static constexpr int kBits = kType == ElementType::BF16 ? 8 : 11, kBias = kType == ElementType::BF16 ? 127 : 15;

  Small() = default;
  /// Rounds a number, whose result must be neither subnormal nor too large.
  Small(double number) {
    int exponent = 0;
    const double fraction = std::frexp(std::abs(number), &exponent); // in [0.5, 1)
    const auto digits = static_cast<uint32_t>(std::nearbyint(std::ldexp(fraction, kBits)));
    const uint32_t magnitude = digits == 0 ? 0 : ((exponent - 2 + kBias) << (kBits - 1)) + digits;
    bits = static_cast<uint16_t>((std::signbit(number) ? 0x8000 : 0) | magnitude);
  }
  bool operator==(const Small &other) const { return bits == other.bits; }
  bool operator!=(const Small &other) const { return bits != other.bits; }

  uint16_t bits = 0;
};
using BF16 = Small<ElementType::BF16>;
using F16 = Small<ElementType::F16>;

template <typename T> inline constexpr ElementType kElementType = ElementType::I1;
template <> inline constexpr ElementType kElementType<float> = ElementType::F32;
template <> inline constexpr ElementType kElementType<double> = ElementType::F64;
template <ElementType kType> inline constexpr ElementType kElementType<Small<kType>> = kType;
template <typename T> constexpr ElementType elementType() { return kElementType<T>; }

} // namespace splitcast::runtime::conformance

#endif // SPLITCAST_TESTS_RUNTIME_CONFORMANCE_SUITESUPPORT_H
