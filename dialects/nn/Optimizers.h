//===- Optimizers.h - The optimizers ------------------------------------------===//
//
// Each is its numbers and its update; nothing else in the project knows one by name. p is the parameter, g the
// gradient, lr the learning rate of the update.
#ifndef SPLITCAST_DIALECTS_NN_OPTIMIZERS_H
#define SPLITCAST_DIALECTS_NN_OPTIMIZERS_H

#include "dialects/nn/Optimizer.h"

#include <tuple>

namespace splitcast {

/// p <- p - lr g
struct Sgd {
  double lr;

  static constexpr std::string_view kName = "sgd";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), g = u.gradient(), lr = u.learningRate();
    return p - lr * g;
  }
};

/// m <- momentum m + g; p <- p - lr m. Of Nesterov: p <- p - lr (g + momentum m), as PyTorch's SGD has it.
struct Momentum {
  double lr;
  double momentum = 0.9;

  static constexpr std::string_view kName = "momentum";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
    each("momentum", self.momentum, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), g = u.gradient(), m = u.state("momentum"), lr = u.learningRate();
    m = m * momentum + g;
    u.setState("momentum", m);
    return p - lr * m;
  }
};

struct Nesterov {
  double lr;
  double momentum = 0.9;

  static constexpr std::string_view kName = "nesterov";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    Momentum::numbers(self, each);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), g = u.gradient(), m = u.state("momentum"), lr = u.learningRate();
    m = m * momentum + g;
    u.setState("momentum", m);
    return p - lr * (m * momentum + g);
  }
};

/// Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
struct Adam {
  double lr;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  static constexpr std::string_view kName = "adam";
  static constexpr bool kCountsUpdates = true;
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
    each("beta1", self.beta1, Bounds::BelowOne);
    each("beta2", self.beta2, Bounds::BelowOne);
    each("epsilon", self.epsilon, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter();
    return p - step(u, *this);
  }

  /// lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon), with m and v updated first.
  template <typename T> static nn::Expr step(nn::Update &u, const T &numbers) {
    nn::Expr g = u.gradient(), m = u.state("exp_avg"), v = u.state("exp_avg_sq");
    m = m * numbers.beta1 + g * (1 - numbers.beta1);
    v = v * numbers.beta2 + g * g * (1 - numbers.beta2);
    u.setState("exp_avg", m);
    u.setState("exp_avg_sq", v);
    // The corrections in f64: 1 - 0.999 in f32 is off by 1e-5.
    nn::Expr power1 = u.power("beta1_power", numbers.beta1), power2 = u.power("beta2_power", numbers.beta2);
    nn::Expr lr = u.learningRate();
    nn::Expr stepSize = (lr.wide() / (1.0 - power1)).as(g);
    nn::Expr correction2 = sqrt(1.0 - power2).as(g);
    return stepSize * (m / (sqrt(v) / correction2 + numbers.epsilon));
  }
};

/// Adam with decoupled weight decay: Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2.
struct AdamW {
  double lr;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01;

  static constexpr std::string_view kName = "adamw";
  static constexpr bool kCountsUpdates = true;
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    Adam::numbers(self, each);
    each("weight_decay", self.weightDecay, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), lr = u.learningRate();
    nn::Expr decayed = p - lr * weightDecay * p;
    return decayed - Adam::step(u, *this);
  }
};

/// s <- s + g^2; p <- p - lr g / (sqrt(s) + epsilon). Duchi, Hazan and Singer 2011, with the diagonal alone.
struct Adagrad {
  double lr;
  double epsilon = 1e-10;

  static constexpr std::string_view kName = "adagrad";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
    each("epsilon", self.epsilon, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), g = u.gradient(), s = u.state("sum");
    s = s + g * g;
    u.setState("sum", s);
    return p - u.learningRate() * (g / (sqrt(s) + epsilon));
  }
};

/// v <- alpha v + (1 - alpha) g^2; m <- momentum m + g / (sqrt(v) + epsilon); p <- p - lr m. (Tieleman and Hinton 2012,
/// lecture 6.5; momentum as PyTorch's RMSprop has it.)
struct RmsProp {
  double lr;
  double alpha = 0.99, epsilon = 1e-8, momentum = 0.0;

  static constexpr std::string_view kName = "rmsprop";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
    each("alpha", self.alpha, Bounds::BelowOne);
    each("epsilon", self.epsilon, Bounds::NotNegative);
    each("momentum", self.momentum, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), g = u.gradient(), v = u.state("square_avg");
    v = v * alpha + g * g * (1 - alpha);
    u.setState("square_avg", v);
    nn::Expr m = g / (sqrt(v) + epsilon);
    if (momentum != 0.0) {
      m = u.state("momentum") * momentum + m;
      u.setState("momentum", m);
    }
    return p - u.learningRate() * m;
  }
};

/// p <- p - lr (sign(beta1 m + (1 - beta1) g) + weight_decay p), then m <- beta2 m + (1 - beta2) g. Chen and others
/// 2023, arXiv:2302.06675, algorithm 2.
struct Lion {
  double lr;
  double beta1 = 0.9, beta2 = 0.99, weightDecay = 0.0;

  static constexpr std::string_view kName = "lion";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
    each("beta1", self.beta1, Bounds::BelowOne);
    each("beta2", self.beta2, Bounds::BelowOne);
    each("weight_decay", self.weightDecay, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), g = u.gradient(), m = u.state("exp_avg"), lr = u.learningRate();
    nn::Expr direction = sign(m * beta1 + g * (1 - beta1));
    u.setState("exp_avg", m * beta2 + g * (1 - beta2));
    return p - lr * (direction + p * weightDecay);
  }
};

/// What `#nn.NAME<...>` and flags know without being told.
using Optimizers = std::tuple<Sgd, Momentum, Nesterov, Adam, AdamW, Adagrad, RmsProp, Lion>;

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_OPTIMIZERS_H
