// The emulation of a block notices what a GPU would not do.
#include "tests/gpu/Fibers.h"

#include <gtest/gtest.h>
#include <vector>

extern "C" {
float splitcast_emulate_shuffle_f32(float value, int32_t lanes);
void splitcast_emulate_barrier(int64_t address);
}

namespace splitcast::gpu_tests {
namespace {

TEST(FibersTest, AButterflyGivesEveryThreadTheSumOfItsWarp) {
  std::vector<float> sums(64);
  ASSERT_TRUE(runBlock(64, [&](int64_t thread) {
                auto sum = static_cast<float>(thread);
                for (int32_t lanes = 16; lanes > 0; lanes /= 2)
                  sum += splitcast_emulate_shuffle_f32(sum, lanes);
                sums[thread] = sum;
              }).ok());
  for (int64_t thread = 0; thread < 64; ++thread)
    EXPECT_EQ(sums[thread], thread < 32 ? 496 : 1520);
}

TEST(FibersTest, ABarrierMakesAllWarpsWait) {
  std::vector<int> written(64), seen(64);
  ASSERT_TRUE(runBlock(64, [&](int64_t thread) {
                written[thread] = 1;
                splitcast_emulate_barrier(0);
                for (int value : written)
                  seen[thread] += value;
              }).ok());
  EXPECT_EQ(seen, std::vector<int>(64, 64));
}

TEST(FibersTest, ThreadsOfAWarpThatShuffleAloneAreAnError) {
  EXPECT_FALSE(runBlock(32, [](int64_t thread) {
                 if (thread < 16)
                   splitcast_emulate_shuffle_f32(1, 1);
               }).ok());
}

TEST(FibersTest, AWarpThatMissesABarrierIsAnError) {
  EXPECT_FALSE(runBlock(64, [](int64_t thread) {
                 if (thread < 32)
                   splitcast_emulate_barrier(0);
               }).ok());
}

} // namespace
} // namespace splitcast::gpu_tests
