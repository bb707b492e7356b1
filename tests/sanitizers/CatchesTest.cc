//===- CatchesTest.cc - Each sanitizer reports what it is there for ---------===//
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace {

#if __has_feature(address_sanitizer)

TEST(Address, ReadBeyondTheEnd) {
  std::vector<int> values(4);
  volatile int *first = values.data();
  EXPECT_DEATH(std::exit(first[4]), "heap-buffer-overflow");
}

int *volatile kept;

void leakAndExit() {
  kept = new int[10];
  kept = nullptr;
  std::exit(0);
}

TEST(Address, Leak) {
  EXPECT_EXIT(leakAndExit(), [](int status) { return status != 0; }, "detected memory leaks");
}

#elif __has_feature(thread_sanitizer)

void raceAndExit() {
  int count = 0;
  std::thread other([&count] { ++count; });
  ++count;
  other.join();
  std::exit(0);
}

TEST(Thread, Race) {
  EXPECT_EXIT(raceAndExit(), [](int status) { return status != 0; }, "data race");
}

#elif __has_feature(undefined_behavior_sanitizer)

volatile int largest = 0x7fffffff;

TEST(Undefined, SignedOverflow) { EXPECT_DEATH(std::exit(largest + 1), "signed integer overflow"); }

#else

TEST(Sanitizer, IsOn) { FAIL() << "built without a sanitizer; add --config=asan, ubsan or tsan"; }

#endif

} // namespace
