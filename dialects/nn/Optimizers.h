//===- Optimizers.h - The optimizers ------------------------------------------===//
//
// Each optimizer consists of its numbers and its update; no other code of the project knows an optimizer by name. In
// the formulas, p is the parameter, g the gradient, and lr the learning rate of the update.
#ifndef SPLITCAST_DIALECTS_NN_OPTIMIZERS_H
#define SPLITCAST_DIALECTS_NN_OPTIMIZERS_H

#include "dialects/nn/Optimizer.h"

#include <algorithm>
#include <cmath>
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

/// m <- momentum m + g; p <- p - lr m. For Nesterov, p <- p - lr (g + momentum m), as in PyTorch's SGD.
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

  /// The step that is subtracted from the parameter with a learning rate of 1: quotient / divisor.
  struct Direction {
    nn::Expr quotient; ///< m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon), with m and v updated first
    nn::Expr divisor;  ///< 1 - beta1^t, in f64: 1 - 0.999 in f32 is off by 1e-5
  };
  template <typename T> static Direction direction(nn::Update &u, const T &numbers) {
    nn::Expr g = u.gradient(), m = u.state("exp_avg"), v = u.state("exp_avg_sq");
    m = m * numbers.beta1 + g * (1 - numbers.beta1);
    v = v * numbers.beta2 + g * g * (1 - numbers.beta2);
    u.setState("exp_avg", m);
    u.setState("exp_avg_sq", v);
    nn::Expr power1 = u.power("beta1_power", numbers.beta1), power2 = u.power("beta2_power", numbers.beta2);
    nn::Expr correction2 = sqrt(1.0 - power2).as(g);
    return {m / (sqrt(v) / correction2 + numbers.epsilon), 1.0 - power1};
  }

  template <typename T> static nn::Expr step(nn::Update &u, const T &numbers) {
    Direction to = direction(u, numbers);
    return (u.learningRate().wide() / to.divisor).as(to.quotient) * to.quotient;
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

/// s <- s + g^2; p <- p - lr g / (sqrt(s) + epsilon). Duchi, Hazan and Singer 2011, with only the diagonal.
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
/// lecture 6.5; momentum as in PyTorch's RMSprop.)
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

/// r = Adam's direction + weight_decay p; p <- p - lr |p| / |r| r, where |p| / |r| is 1 if either norm is 0. You and
/// others 2020, arXiv:1904.00962, algorithm 2, with phi(z) = z.
struct Lamb {
  double lr;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weightDecay = 0.01;

  static constexpr std::string_view kName = "lamb";
  static constexpr bool kCountsUpdates = true;
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) { AdamW::numbers(self, each); }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter();
    Adam::Direction to = Adam::direction(u, *this);
    nn::Expr r = to.quotient / to.divisor.as(p) + p * weightDecay;
    nn::Expr ofParameter = norm(p), ofStep = norm(r);
    nn::Expr one = ofStep * 0.0 + 1.0;
    nn::Expr trust = select(ofParameter * ofStep, ofParameter / ofStep, one);
    return p - (u.learningRate().wide() * trust).as(p) * r;
  }
};

/// Muon updates only matrices [rows, columns]. m <- momentum m + (1 - momentum) g, and d is m, or with nesterov
/// momentum m + (1 - momentum) g; p <- (1 - lr weight_decay) p - lr s O. Here O is d with its singular values changed
/// to about 1: x starts as d / |d|, and `steps` times x <- a x + (b x x^T + c (x x^T)^2) x. Jordan and others 2024,
/// "Muon: an optimizer for hidden layers in neural networks". s = sqrt(max(1, rows / columns)), or with match_rms_adamw
/// 0.2 sqrt(max(rows, columns)): Liu and others 2025, arXiv:2502.16982. With bf16, these steps are computed in bf16.
/// The defaults are PyTorch's, except for that type.
struct Muon {
  double lr;
  double momentum = 0.95, weightDecay = 0.1, nesterov = 1;
  double a = 3.4445, b = -4.775, c = 2.0315, epsilon = 1e-7, steps = 5;
  double matchRmsAdamw = 0, bf16 = 0;

  static constexpr std::string_view kName = "muon";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
    each("momentum", self.momentum, Bounds::UpToOne);
    each("weight_decay", self.weightDecay, Bounds::NotNegative);
    each("nesterov", self.nesterov, Bounds::Flag);
    each("a", self.a, Bounds::Number);
    each("b", self.b, Bounds::Number);
    each("c", self.c, Bounds::Number);
    each("epsilon", self.epsilon, Bounds::Positive);
    each("steps", self.steps, Bounds::CountToHundred);
    each("match_rms_adamw", self.matchRmsAdamw, Bounds::Flag);
    each("bf16", self.bf16, Bounds::Flag);
  }
  static std::optional<std::string> refuses(llvm::ArrayRef<int64_t> shape) {
    if (shape.size() == 2)
      return std::nullopt;
    return "muon updates matrices alone; put variables of other shapes into a group with another optimizer";
  }
  nn::Expr update(nn::Update &u) const {
    nn::Expr p = u.parameter(), g = u.gradient(), m = u.state("momentum"), lr = u.learningRate();
    m = m * momentum + g * (1 - momentum);
    u.setState("momentum", m);
    nn::Expr d = nesterov != 0 ? m * momentum + g * (1 - momentum) : m;
    const double rows = p.shape()[0], columns = p.shape()[1];
    const double scale =
        matchRmsAdamw != 0 ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
    return p - lr * weightDecay * p - lr * scale * orthogonal(d).as(p);
  }

private:
  nn::Expr orthogonal(const nn::Expr &d) const {
    nn::Expr x = gathered(d) / (relu(norm(d) - epsilon) + epsilon).as(d);
    if (bf16 != 0)
      x = x.small();
    const bool isTall = d.shape()[0] > d.shape()[1]; // then x^T x is the smaller product
    for (int step = 0; step < steps; ++step) {
      nn::Expr square = matmul(x, x, isTall, !isTall);
      nn::Expr factor = square * b + matmul(square, square) * c;
      x = x * a + (isTall ? matmul(x, factor) : matmul(factor, x));
    }
    return x;
  }
};

/// The optimizers that `#nn.NAME<...>` and flags know without nn::know.
using Optimizers = std::tuple<Sgd, Momentum, Nesterov, Adam, AdamW, Adagrad, RmsProp, Lion, Lamb, Muon>;

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_OPTIMIZERS_H
