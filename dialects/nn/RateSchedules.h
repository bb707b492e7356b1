//===- RateSchedules.h - Schedules of the learning rate -----------------------===//
//
// Each schedule consists of its numbers and the factor of the learning rate at update t, which counts from 0 after the
// warm-up. If it has `steps`, that is the length of warm-up and schedule together; after it the rate stays constant.
#ifndef SPLITCAST_DIALECTS_NN_RATESCHEDULES_H
#define SPLITCAST_DIALECTS_NN_RATESCHEDULES_H

#include "dialects/nn/Optimizer.h"

#include <cmath>
#include <tuple>

namespace splitcast {

/// 1
struct ConstantRate {
  double warmup;

  static constexpr std::string_view kName = "constant";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("warmup", self.warmup, Bounds::CountOrNone);
  }
  nn::Expr factor(const nn::Expr &t) const { return t * 0.0 + 1.0; }
};

/// The factor changes evenly from 1 to `end`.
struct LinearRate {
  double steps;
  double end = 0.0, warmup = 0.0;

  static constexpr std::string_view kName = "linear";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("steps", self.steps, Bounds::Count);
    each("end", self.end, Bounds::NotNegative);
    each("warmup", self.warmup, Bounds::CountOrNone);
  }
  nn::Expr factor(const nn::Expr &t) const { return left(t, *this) * (1.0 - end) + end; }

  /// Builds the remaining fraction of the schedule: exactly 1 at its start, and exactly 0 from its end on.
  template <typename T> static nn::Expr left(const nn::Expr &t, const T &numbers) {
    const double length = numbers.steps - numbers.warmup;
    return relu(length - t) / length;
  }
};

/// end + (1 - end) (1 + cos(pi t / length)) / 2: Loshchilov and Hutter 2017, arXiv:1608.03983, formula 5, without
/// restarts.
struct CosineRate {
  double steps;
  double end = 0.0, warmup = 0.0;

  static constexpr std::string_view kName = "cosine";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    LinearRate::numbers(self, each);
  }
  nn::Expr factor(const nn::Expr &t) const {
    const double pi = 3.14159265358979323846;
    return (cos((1.0 - LinearRate::left(t, *this)) * pi) + 1.0) * ((1.0 - end) / 2) + end;
  }
};

/// end + (1 - end) (1 - t / length)^power
struct PolynomialRate {
  double steps;
  double power = 1.0, end = 0.0, warmup = 0.0;

  static constexpr std::string_view kName = "polynomial";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("steps", self.steps, Bounds::Count);
    each("power", self.power, Bounds::Positive);
    each("end", self.end, Bounds::NotNegative);
    each("warmup", self.warmup, Bounds::CountOrNone);
  }
  nn::Expr factor(const nn::Expr &t) const { return pow(LinearRate::left(t, *this), power) * (1.0 - end) + end; }
};

/// gamma^(t / every), where the quotient is rounded down.
struct StepRate {
  double every;
  double gamma = 0.1, warmup = 0.0;

  static constexpr std::string_view kName = "step";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("every", self.every, Bounds::Count);
    each("gamma", self.gamma, Bounds::Positive);
    each("warmup", self.warmup, Bounds::CountOrNone);
  }
  // Adding a half keeps a whole quotient from being rounded to the next smaller number.
  nn::Expr factor(const nn::Expr &t) const { return exp(whole((t + 0.5) * (1.0 / every)) * std::log(gamma)); }
};

/// gamma^t
struct ExponentialRate {
  double gamma;
  double warmup = 0.0;

  static constexpr std::string_view kName = "exponential";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("gamma", self.gamma, Bounds::Positive);
    each("warmup", self.warmup, Bounds::CountOrNone);
  }
  nn::Expr factor(const nn::Expr &t) const { return exp(t * std::log(gamma)); }
};

/// The schedules that `#nn.NAME<...>` and flags know without nn::know.
using RateSchedules = std::tuple<ConstantRate, LinearRate, CosineRate, PolynomialRate, StepRate, ExponentialRate>;

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_RATESCHEDULES_H
