#include "tests/gpu/Fibers.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace splitcast::gpu_tests {
namespace {

constexpr int64_t kWarpSize = 32, kStackBytes = 128 << 10;

/// A thread's elements of the operands and of the sum.
struct Tiles {
  uint32_t left[4] = {}, right[2] = {};
  float sums[4] = {};
};

class Block {
public:
  Block(int64_t threads, const std::function<void(int64_t)> &thread) : body(thread), fibers(threads) {}

  absl::Status run();

  uint64_t shuffle(uint64_t value, int64_t lanes) {
    Fiber &self = fibers[running];
    const int64_t peer = running / kWarpSize * kWarpSize + (running % kWarpSize ^ lanes);
    self.slots[self.shuffles % 2] = value;
    ++self.shuffles;
    pause(At::Shuffle);
    if (peer >= static_cast<int64_t>(fibers.size()))
      return value;
    return fibers[peer].slots[(self.shuffles - 1) % 2]; // the peer may be at its next shuffle already
  }
  void barrier() { pause(At::Barrier); }

  /// Multiplies the tiles of the warp (runtime/gpu/TileKernel.h).
  void multiply(const Tiles &own) {
    Fiber &self = fibers[running];
    const int64_t turn = self.shuffles % 2;
    self.tiles[turn] = own;
    ++self.shuffles;
    pause(At::Shuffle);
    const int64_t first = running / kWarpSize * kWarpSize, lane = running % kWarpSize;
    auto tilesOf = [&](int64_t group, int64_t inGroup) -> const Tiles & {
      return fibers[first + group * 4 + inGroup].tiles[turn];
    };
    for (int64_t element = 0; element < 4; ++element) {
      const int64_t half = element / 2, column = lane % 4 * 2 + element % 2;
      double sum = own.sums[element];
      for (int64_t depth = 0; depth < 8; ++depth)
        sum += double{valueOf(tilesOf(lane / 4, depth % 4).left[half + 2 * (depth / 4)])} *
               valueOf(tilesOf(column, depth % 4).right[depth / 4]);
      const auto nearest = static_cast<float>(sum); // tensor cores round toward 0
      self.products[element] = std::abs(double{nearest}) > std::abs(sum) ? std::nextafter(nearest, 0.0F) : nearest;
    }
  }
  float product(int32_t element) const { return fibers[running].products[element]; }

private:
  static float valueOf(uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  enum class At { Start, Shuffle, Barrier, End };
  struct Fiber {
    ucontext_t context = {};
    std::unique_ptr<char[]> stack;
    At at = At::Start;
    int64_t shuffles = 0;
    uint64_t slots[2] = {};
    Tiles tiles[2];
    float products[4] = {};
  };

  static void enter();
  void pause(At at) {
    fibers[running].at = at;
    swapcontext(&fibers[running].context, &scheduler);
  }
  void resume(int64_t thread) {
    running = thread;
    swapcontext(&scheduler, &fibers[thread].context);
  }
  absl::Status runWarp(int64_t first, int64_t end);

  const std::function<void(int64_t)> &body;
  std::vector<Fiber> fibers;
  ucontext_t scheduler = {};
  int64_t running = 0;
};

thread_local Block *current = nullptr;

void Block::enter() {
  Block *block = current;
  block->body(block->running);
  block->fibers[block->running].at = At::End;
}

/// Until all its threads have ended, or are at a barrier.
absl::Status Block::runWarp(int64_t first, int64_t end) {
  do {
    for (int64_t thread = first; thread < end; ++thread)
      if (fibers[thread].at != At::End)
        resume(thread);
    for (int64_t thread = first; thread < end; ++thread)
      if (fibers[thread].at != fibers[first].at || fibers[thread].shuffles != fibers[first].shuffles)
        return absl::InternalError(absl::StrCat("threads ", first, " and ", thread,
                                                " of one warp are not at the same shuffle, barrier or end"));
  } while (fibers[first].at == At::Shuffle);
  return absl::OkStatus();
}

absl::Status Block::run() {
  current = this;
  for (Fiber &fiber : fibers) {
    fiber.stack.reset(new char[kStackBytes]);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, &Block::enter, 0);
  }
  const auto threads = static_cast<int64_t>(fibers.size());
  do {
    for (int64_t first = 0; first < threads; first += kWarpSize)
      if (absl::Status status = runWarp(first, std::min(first + kWarpSize, threads)); !status.ok())
        return status;
    for (const Fiber &fiber : fibers)
      if (fiber.at != fibers.front().at)
        return absl::InternalError("some threads of a block have ended while others wait at a barrier");
  } while (fibers.front().at == At::Barrier);
  return absl::OkStatus();
}

} // namespace

absl::Status runBlock(int64_t threads, const std::function<void(int64_t)> &thread) {
  Block block(threads, thread);
  return block.run();
}

// What kernels call (EmulatedDevice.cc).
extern "C" {
float splitcast_emulate_shuffle_f32(float value, int32_t lanes) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  bits = current->shuffle(bits, lanes);
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
double splitcast_emulate_shuffle_f64(double value, int32_t lanes) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  bits = current->shuffle(bits, lanes);
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
int32_t splitcast_emulate_shuffle_i32(int32_t value, int32_t lanes) {
  return static_cast<int32_t>(current->shuffle(static_cast<uint32_t>(value), lanes));
}
int64_t splitcast_emulate_shuffle_i64(int64_t value, int32_t lanes) {
  return static_cast<int64_t>(current->shuffle(static_cast<uint64_t>(value), lanes));
}
void splitcast_emulate_multiply(uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1, float c0,
                                float c1, float c2, float c3) {
  current->multiply({{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}});
}
float splitcast_emulate_product(int32_t element) { return current->product(element); }
/// The address tells the compiler that memory there may have changed.
void splitcast_emulate_barrier(int64_t) { current->barrier(); }
}

} // namespace splitcast::gpu_tests
