//===- Optimizer.h - What an optimizer and a schedule of its rate are --------===//
//
// An optimizer is a struct of numbers (Hyperparameters.h) with its update of one variable, written as elementwise
// tensor arithmetic; the compiler knows nothing else of it, and a user's own is used like those of Optimizers.h:
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
// One that a module read from text names has to be known before: nn::know<Heavy>().
#ifndef SPLITCAST_DIALECTS_NN_OPTIMIZER_H
#define SPLITCAST_DIALECTS_NN_OPTIMIZER_H

#include "dialects/nn/Hyperparameters.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <type_traits>

namespace splitcast {
namespace nn {

/// A tensor in a formula; operators make ops. Shapes broadcast, types of operands agree.
class Expr {
public:
  Expr(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) : builder(&builder), loc(loc), tensor(value) {}

  mlir::Value value() const { return tensor; }
  /// In f64, where numbers are too close to 1 for f32, or counted.
  Expr wide() const;
  /// In the element type of `other`.
  Expr as(const Expr &other) const;
  /// In bf16.
  Expr small() const;
  /// Extents, global.
  llvm::ArrayRef<int64_t> shape() const;

  friend Expr operator+(const Expr &a, const Expr &b);
  friend Expr operator-(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, const Expr &b);
  friend Expr operator/(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, double b);
  /// Rounded once: a * (1 / b) is less than 1 for some a = b.
  friend Expr operator/(const Expr &a, double b);
  friend Expr operator+(const Expr &a, double b);
  friend Expr operator-(const Expr &a, double b) { return a + -b; }
  friend Expr operator-(double a, const Expr &b) { return b * -1.0 + a; }
  friend Expr sqrt(const Expr &x);
  friend Expr exp(const Expr &x);
  friend Expr log(const Expr &x);
  friend Expr cos(const Expr &x);
  friend Expr relu(const Expr &x);
  /// x, or `least` where it is less, or `most` where it is more.
  friend Expr clamp(const Expr &x, double least, double most);
  /// `chosen` where the condition is not 0, else `other`; what is not chosen may be a NaN.
  friend Expr select(const Expr &condition, const Expr &chosen, const Expr &other);
  /// 1, 0 or -1; NaN of NaN.
  friend Expr sign(const Expr &x);
  /// Towards zero. Requires |x| < 2^63.
  friend Expr whole(const Expr &x);
  /// The root of the sum of all elements' squares, an f64 scalar. It has the same bits however the tensor is divided
  /// over ranks; elements below 2^-112 in magnitude may be lost, and from 2^128 on they count as infinite. Of at most
  /// 2^34 elements.
  friend Expr norm(const Expr &x);
  /// The same, whole on each rank where it lay in parts, as what is made of it then is.
  friend Expr gathered(const Expr &x);
  /// Of matrices, whole.
  friend Expr matmul(const Expr &a, const Expr &b, bool transposeA, bool transposeB);

private:
  Expr make(mlir::Value value) const { return {*builder, loc, value}; }

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value tensor;
};

/// x, or `most` where that is less; exact of whole numbers.
inline Expr atMost(const Expr &x, double most) { return most - relu(most - x); }
/// x^exponent of x >= 0.
inline Expr pow(const Expr &x, double exponent) { return exp(log(x) * exponent); }

Expr norm(const Expr &x);
Expr gathered(const Expr &x);
Expr matmul(const Expr &a, const Expr &b, bool transposeA = false, bool transposeB = false);

/// What an optimizer makes its update of. All tensors have the variable's shape, and its type, f32 for f16, but where
/// it says another.
class Update {
public:
  virtual ~Update() = default;
  /// Its value before the update.
  virtual Expr parameter() = 0;
  virtual Expr gradient() = 0;
  /// State of this variable, zero at first: its value now.
  virtual Expr state(std::string_view role) = 0;
  virtual void setState(std::string_view role, const Expr &value) = 0;
  /// The learning rate of this update, a scalar.
  virtual Expr learningRate() = 0;
  /// `base` to the number of updates that the variable has had, this one included: an f64 scalar. Which variables have
  /// had equally many is known, so that they share it. Only of optimizers with kCountsUpdates.
  virtual Expr power(std::string_view role, double base) = 0;
};

class OptimizerModel : public Hyperparameters {
public:
  virtual bool countsUpdates() const = 0;
  /// Why it updates no variable of this shape, and what to do; or nothing.
  virtual std::optional<std::string> refuses(llvm::ArrayRef<int64_t> shape) const = 0;
  /// The new value of the parameter.
  virtual Expr update(Update &update) const = 0;
  /// Also when the learning rate is none that the f32 which holds it while training can be.
  std::optional<std::string> wrong() const override;
  double learningRate() const { return values().front(); }
};

/// A schedule: by what the learning rate is multiplied at each update. Structs have `factor`, whose argument counts
/// updates from 0 on, without those of the warm-up: an f64 scalar. Its result is 1 where that is 0. And `warmup`,
/// updates in which the rate grows evenly from 1 / warmup to 1.
class RateModel : public Hyperparameters {
public:
  /// Of the update before which there were `updates`, an f64 scalar.
  virtual Expr factor(const Expr &updates) const = 0;
  std::optional<std::string> wrong() const override;
};

namespace detail {

template <typename T, typename = void> struct CountsUpdates : std::false_type {};
template <typename T>
struct CountsUpdates<T, std::void_t<decltype(T::kCountsUpdates)>> : std::bool_constant<T::kCountsUpdates> {};

/// An optimizer that does not update variables of every shape says so: `static std::optional<std::string>
/// refuses(llvm::ArrayRef<int64_t> shape)`.
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

/// Makes an optimizer, or a schedule of rates, known by its name.
template <typename T> void know() {
  if constexpr (detail::IsRate<T>::value)
    detail::rates().add<detail::RateModelOf<T>, T>();
  else
    detail::optimizers().add<detail::OptimizerModelOf<T>, T>();
}

/// With defaults; null: none of this name is known.
std::unique_ptr<OptimizerModel> makeOptimizer(std::string_view name);
std::unique_ptr<RateModel> makeRate(std::string_view name);
/// "adam, adamw or sgd"
std::string knownOptimizers();
std::string knownRates();

} // namespace nn

namespace detail {

/// A struct behind the interface of what it is. Copies are the same.
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

/// "adamw,lr=6e-4,weight-decay=0.1". An error, which says what is allowed, or nothing.
std::optional<std::string> parseOptimizer(std::string_view text, std::optional<Optimizer> *optimizer);
/// "cosine,steps=1000,warmup=100"
std::optional<std::string> parseRateSchedule(std::string_view text, std::optional<RateSchedule> *schedule);

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_OPTIMIZER_H
