#include "runtime/host/calls/AttentionRows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#define SPLITCAST_INLINE inline __attribute__((always_inline))

namespace splitcast::runtime {
namespace {

constexpr int64_t kLanes = 16;

/// Returns e^x for x <= 0, within 2 ulp, as 2^n times a polynomial of the rest
/// (with the coefficients of expf in the Cephes library, S. Moshier 1992).
/// Below -87 it is 0, since denormal numbers are slow.
SPLITCAST_INLINE float exponential(float x) {
  constexpr float kLog2e = 1.44269504F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F; // 1.5 * 2^23: after adding it, the last bits hold the rounded integer
  float clamped = x < -87.0F ? -87.0F : x;
  float shifted = clamped * kLog2e + kRound, n = shifted - kRound;
  float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  // n is taken from the bits. A conversion to an integer would be undefined for
  // NaN. With NaN the bits do not matter, since p is NaN.
  uint32_t bits, ofRound;
  std::memcpy(&bits, &shifted, sizeof(bits));
  std::memcpy(&ofRound, &kRound, sizeof(ofRound));
  bits = (bits - ofRound + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof(power));
  return x < -87.0F ? 0.0F : p * power;
}

SPLITCAST_INLINE double exponential(double x) { return std::exp(x); }

/// Adds the lanes in a fixed tree: 16 to 8, 8 to 4, 4 to 2, 2 to 1.
template <typename Float> SPLITCAST_INLINE Float addLanes(Float *lanes) {
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t lane = 0; lane < width; ++lane)
      lanes[lane] += lanes[lane + width];
  return lanes[0];
}

template <typename Float> using SumOf = typename AttentionRows<Float>::Sum;

template <typename Float> SPLITCAST_INLINE SumOf<Float> softmax(Float *scores, int64_t count) {
  Float max = AttentionRows<Float>::unseen();
  for (int64_t i = 0; i < count; ++i)
    max = std::max(max, scores[i]);
  // If all scores are -infinity, so is the maximum: its difference to them would be a NaN.
  const Float shift = max == AttentionRows<Float>::unseen() ? Float(0) : max;
  Float lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  auto weigh = [&](int64_t i) __attribute__((always_inline)) { return scores[i] = exponential(scores[i] - shift); };
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += weigh(i + lane);
  for (int64_t i = whole; i < count; ++i)
    lanes[i - whole] += weigh(i);
  const Float sum = addLanes(lanes);
  const Float divisor = sum == 0 ? 1 : sum;
  for (int64_t i = 0; i < count; ++i)
    scores[i] /= divisor;
  return {max, sum};
}

template <typename Float>
SPLITCAST_INLINE void softmaxGrad(const Float *weights, Float *slopes, int64_t count, Float scale) {
  Float lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += weights[i + lane] * slopes[i + lane];
  for (int64_t i = whole; i < count; ++i)
    lanes[i - whole] += weights[i] * slopes[i];
  const Float dot = addLanes(lanes);
  for (int64_t i = 0; i < count; ++i)
    slopes[i] = weights[i] * (slopes[i] - dot) * scale;
}

// Each function is compiled once per instruction set. All do the same
// operations in the same order, in registers of different width.
#define SPLITCAST_ROWS(NAME, TARGET)                                                                                   \
  template <typename Float> __attribute__((TARGET)) SumOf<Float> softmax##NAME(Float *scores, int64_t count) {         \
    return softmax(scores, count);                                                                                     \
  }                                                                                                                    \
  template <typename Float>                                                                                            \
  __attribute__((TARGET)) void softmaxGrad##NAME(const Float *weights, Float *slopes, int64_t count, Float scale) {    \
    softmaxGrad(weights, slopes, count, scale);                                                                        \
  }
SPLITCAST_ROWS(Plain, noinline)
SPLITCAST_ROWS(Avx2, target("avx2"))
SPLITCAST_ROWS(Avx512, target("avx512f,avx512vl,avx512dq"))

} // namespace

template <typename Float> Float AttentionRows<Float>::unseen() { return -std::numeric_limits<Float>::infinity(); }

template <typename Float> AttentionRows<Float> AttentionRows<Float>::forThisCpu() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return {softmaxAvx512<Float>, softmaxGradAvx512<Float>};
  if (__builtin_cpu_supports("avx2"))
    return {softmaxAvx2<Float>, softmaxGradAvx2<Float>};
  return {softmaxPlain<Float>, softmaxGradPlain<Float>};
}

template struct AttentionRows<float>;
template struct AttentionRows<double>;

} // namespace splitcast::runtime
