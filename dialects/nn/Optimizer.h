//===- Optimizer.h - Optimizers and schedules of their learning rates --------===//
//
// An optimizer is a struct of numbers (Hyperparameters.h) and its update of one variable, written as elementwise tensor
// arithmetic. The compiler knows nothing else about it, and a user's own optimizer is used in the same way as those of
// Optimizers.h:
//
//   struct Heavy {
//     double lr, mass = 0.9;
//     static constexpr std::string_view kName = "heavy";
//     template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
//       each("lr", self.lr, Bounds::NotNegative);
//       each("mass", self.mass, Bounds::BelowOne);
//     }
//     nn::Expr update(nn::Update &u) const {
//       u.setState("speed", u.state("speed") * mass + u.gradient());
//       return u.parameter() - u.learningRate() * u.state("speed");
//     }
//   };
//   graph.minimize(loss, Heavy{0.1});
//
// If a module that is read from text names such an optimizer, it must be made known before: nn::know<Heavy>().
#ifndef SPLITCAST_DIALECTS_NN_OPTIMIZER_H
#define SPLITCAST_DIALECTS_NN_OPTIMIZER_H

#include "dialects/nn/Hyperparameters.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <type_traits>

namespace splitcast {
namespace nn {

/// A tensor in a formula; its operators build ops. Shapes are broadcast; element types of operands must agree.
class Expr {
public:
  Expr(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) : builder(&builder), loc(loc), tensor(value) {}

  mlir::Value value() const { return tensor; }
  /// Casts to f64, for numbers that are too close to 1 for f32, or that count.
  Expr wide() const;
  /// Casts to the element type of `other`.
  Expr as(const Expr &other) const;
  /// Casts to bf16.
  Expr small() const;
  /// Returns the extents of the global tensor.
  llvm::ArrayRef<int64_t> shape() const;

  friend Expr operator+(const Expr &a, const Expr &b);
  friend Expr operator-(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, const Expr &b);
  friend Expr operator/(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, double b);
  /// Divides with one rounding; a * (1 / b), by contrast, is less than 1 for some a = b.
  friend Expr operator/(const Expr &a, double b);
  friend Expr operator+(const Expr &a, double b);
  friend Expr operator-(const Expr &a, double b) { return a + -b; }
  friend Expr operator-(double a, const Expr &b) { return b * -1.0 + a; }
  friend Expr sqrt(const Expr &x);
  friend Expr exp(const Expr &x);
  friend Expr log(const Expr &x);
  friend Expr cos(const Expr &x);
  friend Expr relu(const Expr &x);
  /// Returns x, or `least` where x is less, or `most` where x is greater.
  friend Expr clamp(const Expr &x, double least, double most);
  /// Returns `chosen` where the condition is not 0, else `other`; elements that are not chosen may be NaN.
  friend Expr select(const Expr &condition, const Expr &chosen, const Expr &other);
  /// Returns 1, 0 or -1; NaN for a NaN.
  friend Expr sign(const Expr &x);
  /// Rounds towards zero. Requires |x| < 2^63.
  friend Expr whole(const Expr &x);
  /// Returns the root of the sum of all elements' squares, an f64 scalar. It has the same bits however the tensor is
  /// divided over ranks. Elements below 2^-112 in magnitude may be lost, and elements from 2^128 on count as infinite.
  /// Requires at most 2^34 elements.
  friend Expr norm(const Expr &x);
  /// Returns the same tensor, whole on each rank; values that are computed from it are then whole, too.
  friend Expr gathered(const Expr &x);
  /// Returns the product of two matrices that lie whole.
  friend Expr matmul(const Expr &a, const Expr &b, bool transposeA, bool transposeB);

private:
  Expr make(mlir::Value value) const { return {*builder, loc, value}; }

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value tensor;
};

/// Returns the smaller of x and `most`; it is exact for whole numbers.
inline Expr atMost(const Expr &x, double most) { return most - relu(most - x); }
/// Returns x^exponent for x >= 0.
inline Expr pow(const Expr &x, double exponent) { return exp(log(x) * exponent); }

Expr norm(const Expr &x);
Expr gathered(const Expr &x);
Expr matmul(const Expr &a, const Expr &b, bool transposeA = false, bool transposeB = false);

/// The inputs of an optimizer's update. Unless stated otherwise, all tensors have the variable's shape and its element
/// type, or f32 where that is f16.
class Update {
public:
  virtual ~Update() = default;
  /// Returns the variable's value before the update.
  virtual Expr parameter() = 0;
  virtual Expr gradient() = 0;
  /// Returns the current value of a state of this variable; it is zero at first.
  virtual Expr state(std::string_view role) = 0;
  virtual void setState(std::string_view role, const Expr &value) = 0;
  /// Returns the learning rate of this update, a scalar.
  virtual Expr learningRate() = 0;
  /// Returns `base` to the power of the number of updates that the variable has had, including this one: an f64 scalar.
  /// Variables that are known to have had equally many updates share it. Only for optimizers with kCountsUpdates.
  virtual Expr power(std::string_view role, double base) = 0;
};

class OptimizerModel : public Hyperparameters {
public:
  virtual bool countsUpdates() const = 0;
  /// Returns why the optimizer cannot update a variable of this shape, and what to do; or nothing.
  virtual std::optional<std::string> refuses(llvm::ArrayRef<int64_t> shape) const = 0;
  /// Builds the new value of the parameter.
  virtual Expr update(Update &update) const = 0;
  /// Also returns an error if the learning rate does not fit into the f32 that holds it during training.
  std::optional<std::string> wrong() const override;
  double learningRate() const { return values().front(); }
};

/// A schedule: the factor by which the learning rate is multiplied at each update. A schedule's struct has `factor`,
/// whose argument counts updates from 0 on, without those of the warm-up: an f64 scalar. The result is 1 where the
/// argument is 0. The struct also has `warmup`, the number of updates in which the rate grows evenly from 1 / warmup to
/// 1.
class RateModel : public Hyperparameters {
public:
  /// Builds the factor of the update before which there were `updates`, an f64 scalar.
  virtual Expr factor(const Expr &updates) const = 0;
  std::optional<std::string> wrong() const override;
};

namespace detail {

template <typename T, typename = void> struct CountsUpdates : std::false_type {};
template <typename T>
struct CountsUpdates<T, std::void_t<decltype(T::kCountsUpdates)>> : std::bool_constant<T::kCountsUpdates> {};

/// Calls the optimizer's `static std::optional<std::string> refuses(llvm::ArrayRef<int64_t> shape)`, which an optimizer
/// has if it cannot update variables of every shape.
template <typename T, typename = void> struct Refuses {
  static std::optional<std::string> of(llvm::ArrayRef<int64_t>) { return std::nullopt; }
};
template <typename T> struct Refuses<T, std::void_t<decltype(&T::refuses)>> {
  static std::optional<std::string> of(llvm::ArrayRef<int64_t> shape) { return T::refuses(shape); }
};

HyperparameterNames<OptimizerModel> &optimizers();
HyperparameterNames<RateModel> &rates();

template <typename T> class OptimizerModelOf : public HyperparametersOf<T, OptimizerModel> {
public:
  using HyperparametersOf<T, OptimizerModel>::HyperparametersOf;
  bool countsUpdates() const override { return CountsUpdates<T>::value; }
  std::optional<std::string> refuses(llvm::ArrayRef<int64_t> shape) const override { return Refuses<T>::of(shape); }
  std::optional<std::string> wrong() const override {
    if (optimizers().isAnothers<T>())
      return std::string(T::kName) + " is another optimizer's name; give yours its own";
    return OptimizerModel::wrong();
  }
  Expr update(Update &update) const override { return this->held.update(update); }
};

template <typename T> class RateModelOf : public HyperparametersOf<T, RateModel> {
public:
  using HyperparametersOf<T, RateModel>::HyperparametersOf;
  std::optional<std::string> wrong() const override {
    if (rates().isAnothers<T>())
      return std::string(T::kName) + " is another schedule's name; give yours its own";
    return RateModel::wrong();
  }
  Expr factor(const Expr &updates) const override {
    const double warmup = this->held.warmup;
    if (warmup == 0)
      return this->held.factor(updates);
    return atMost((updates + 1.0) / warmup, 1.0) * this->held.factor(relu(updates - warmup));
  }
};

template <typename T, typename = void> struct IsRate : std::false_type {};
template <typename T> struct IsRate<T, std::void_t<decltype(&T::factor)>> : std::true_type {};

} // namespace detail

/// Makes an optimizer, or a schedule of learning rates, known by its name.
template <typename T> void know() {
  if constexpr (detail::IsRate<T>::value)
    detail::rates().add<detail::RateModelOf<T>, T>();
  else
    detail::optimizers().add<detail::OptimizerModelOf<T>, T>();
}

/// Return the optimizer or schedule of this name, with its defaults; null if none of this name is known.
std::unique_ptr<OptimizerModel> makeOptimizer(std::string_view name);
std::unique_ptr<RateModel> makeRate(std::string_view name);
/// Returns the known names, as "adam, adamw or sgd".
std::string knownOptimizers();
std::string knownRates();

} // namespace nn

namespace detail {

/// Holds a struct behind its interface. Copies share it.
template <typename Model> class Held {
public:
  const Model &operator*() const { return *model; }
  const Model *operator->() const { return model.get(); }

protected:
  explicit Held(std::shared_ptr<const Model> model) : model(std::move(model)) {}
  std::shared_ptr<const Model> model;
};

} // namespace detail

/// Any optimizer: Adam{1e-3}.
class Optimizer : public detail::Held<nn::OptimizerModel> {
public:
  template <typename T, typename = decltype(&T::update)>
  Optimizer(const T &optimizer) : Held(std::make_shared<nn::detail::OptimizerModelOf<T>>(optimizer)) {
    nn::know<T>();
  }
  explicit Optimizer(std::unique_ptr<nn::OptimizerModel> model) : Held(std::move(model)) {}
};

/// Any schedule of a learning rate: CosineRate{1000}.
class RateSchedule : public detail::Held<nn::RateModel> {
public:
  template <typename T, typename = decltype(&T::factor)>
  RateSchedule(const T &schedule) : Held(std::make_shared<nn::detail::RateModelOf<T>>(schedule)) {
    nn::know<T>();
  }
  explicit RateSchedule(std::unique_ptr<nn::RateModel> model) : Held(std::move(model)) {}
};

/// Parses a text such as "adamw,lr=6e-4,weight-decay=0.1". Returns an error, which says what is allowed, or nothing.
std::optional<std::string> parseOptimizer(std::string_view text, std::optional<Optimizer> *optimizer);
/// Parses a text such as "cosine,steps=1000,warmup=100".
std::optional<std::string> parseRateSchedule(std::string_view text, std::optional<RateSchedule> *schedule);

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_OPTIMIZER_H
