#include "dialects/nn/Optimizer.h"

#include "dialects/nn/Nn.h"
#include "dialects/nn/Optimizers.h"
#include "dialects/nn/RateSchedules.h"

#include <cmath>
#include <limits>
#include <sstream>

using namespace mlir;

namespace splitcast::nn {

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

namespace {

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

} // namespace

Expr Expr::wide() const {
  if (elementOf(tensor).isF64())
    return *this;
  return make(builder->create<CastOp>(loc, tensor, builder->getF64Type()));
}

Expr Expr::as(const Expr &other) const {
  if (elementOf(tensor) == elementOf(other.tensor))
    return *this;
  return make(builder->create<CastOp>(loc, tensor, elementOf(other.tensor)));
}

Expr Expr::small() const { return make(builder->create<CastOp>(loc, tensor, builder->getBF16Type())); }

llvm::ArrayRef<int64_t> Expr::shape() const { return cast<RankedTensorType>(tensor.getType()).getShape(); }

Expr operator+(const Expr &a, const Expr &b) { return a.make(a.builder->create<AddOp>(a.loc, a.tensor, b.tensor)); }
Expr operator-(const Expr &a, const Expr &b) { return a.make(a.builder->create<SubOp>(a.loc, a.tensor, b.tensor)); }
Expr operator*(const Expr &a, const Expr &b) { return a.make(a.builder->create<MulOp>(a.loc, a.tensor, b.tensor)); }
Expr operator/(const Expr &a, const Expr &b) { return a.make(a.builder->create<DivOp>(a.loc, a.tensor, b.tensor)); }
Expr operator/(const Expr &a, double b) { return a / a.make(splat(*a.builder, a.loc, a.tensor.getType(), b)); }
Expr operator*(const Expr &a, double b) { return a.make(a.builder->create<ScaleOp>(a.loc, a.tensor, b)); }
Expr operator+(const Expr &a, double b) { return a.make(a.builder->create<ShiftOp>(a.loc, a.tensor, b)); }

Expr sqrt(const Expr &x) { return x.make(x.builder->create<SqrtOp>(x.loc, x.tensor)); }
Expr exp(const Expr &x) { return x.make(x.builder->create<ExpOp>(x.loc, x.tensor)); }
Expr log(const Expr &x) { return x.make(x.builder->create<LogOp>(x.loc, x.tensor)); }
Expr cos(const Expr &x) { return x.make(x.builder->create<CosOp>(x.loc, x.tensor)); }
Expr clamp(const Expr &x, double least, double most) {
  return x.make(x.builder->create<ClampOp>(x.loc, x.tensor, least, most));
}
Expr select(const Expr &condition, const Expr &chosen, const Expr &other) {
  return chosen.make(
      chosen.builder->create<SelectOp>(chosen.loc, condition.as(chosen).tensor, chosen.tensor, other.tensor));
}
Expr relu(const Expr &x) { return x.make(x.builder->create<ReluOp>(x.loc, x.tensor)); }

/// Returns 1 where x > 0, minus 1 where -x > 0. Both are slopes of relu, which
/// are 0 for a NaN. So that a NaN stays one, 0 times relu(1 - relu(x)) is
/// added, which is finite for all other x.
Expr sign(const Expr &x) {
  Value one = splat(*x.builder, x.loc, x.tensor.getType(), 1.0);
  Expr above = x.make(x.builder->create<ReluGradOp>(x.loc, one, x.tensor));
  Expr below = x.make(x.builder->create<ReluGradOp>(x.loc, one, (x * -1.0).tensor));
  return above - below + relu(1.0 - relu(x)) * 0.0;
}

Expr norm(const Expr &x) {
  Value parts = x.builder->create<SquarePartsOp>(x.loc, x.tensor);
  return sqrt(x.make(x.builder->create<TotalOfPartsOp>(x.loc, parts)));
}

/// Reshapes the tensor there and back. A reshape to another number of
/// dimensions is no elementwise op, so it keeps the row that it has without
/// ZeRO (solveInPhases), where updates are whole unless the user has split the
/// variable.
Expr gathered(const Expr &x) {
  auto type = cast<RankedTensorType>(x.tensor.getType());
  llvm::SmallVector<int64_t> longer = {1};
  llvm::append_range(longer, type.getShape());
  Value within = x.builder->create<ReshapeOp>(x.loc, RankedTensorType::get(longer, type.getElementType()), x.tensor);
  return x.make(x.builder->create<ReshapeOp>(x.loc, undecided(type), within));
}

Expr matmul(const Expr &a, const Expr &b, bool transposeA, bool transposeB) {
  return a.make(a.builder->create<MatmulOp>(a.loc, a.tensor, b.tensor, transposeA, transposeB));
}

Expr whole(const Expr &x) {
  Value integer = x.builder->create<CastOp>(x.loc, x.tensor, x.builder->getI64Type());
  return x.make(x.builder->create<CastOp>(x.loc, integer, elementOf(x.tensor)));
}

std::optional<std::string> OptimizerModel::wrong() const {
  const std::vector<Hyperparameter> all = numbers();
  if (all.empty())
    return std::string(name()) + " has no numbers; the first is its learning rate, so it must have one";
  if (std::optional<std::string> wrong = Hyperparameters::wrong())
    return wrong;
  const double rate = std::abs(learningRate());
  if (rate == 0 || (rate <= std::numeric_limits<float>::max() && static_cast<float>(rate) != 0))
    return std::nullopt;
  std::ostringstream text;
  text << name() << " has " << all.front().name << " = " << learningRate()
       << ", which f32 does not hold; it must be 0, or of a magnitude of 1.4e-45 to 3.4e+38";
  return text.str();
}

std::optional<std::string> LossScaleModel::wrong() const {
  if (std::optional<std::string> number = HyperparametersOf::wrong())
    return number;
  if (held.growth >= 1 && held.backoff <= 1)
    return std::nullopt;
  return "loss_scale grows by less than 1 or backs off by more; growth must be at least 1, and backoff at most 1";
}

std::optional<std::string> RateModel::wrong() const {
  if (std::optional<std::string> wrong = Hyperparameters::wrong())
    return wrong;
  std::map<std::string, double> byName;
  for (const Hyperparameter &number : numbers())
    byName[number.name] = number.value;
  auto steps = byName.find("steps");
  if (steps == byName.end() || byName["warmup"] < steps->second)
    return std::nullopt;
  return (llvm::Twine(name()) + " has warmup = " + llvm::Twine(static_cast<int64_t>(byName["warmup"])) +
          " of steps = " + llvm::Twine(static_cast<int64_t>(steps->second)) +
          "; steps count the warm-up, too, so there must be more of them")
      .str();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace detail {

namespace {

template <typename... Ts> HyperparameterNames<OptimizerModel> namesOf(std::tuple<Ts...> *) {
  HyperparameterNames<OptimizerModel> names;
  (names.add<OptimizerModelOf<Ts>, Ts>(), ...);
  return names;
}
template <typename... Ts> HyperparameterNames<RateModel> ratesOf(std::tuple<Ts...> *) {
  HyperparameterNames<RateModel> names;
  (names.add<RateModelOf<Ts>, Ts>(), ...);
  return names;
}

} // namespace

HyperparameterNames<OptimizerModel> &optimizers() {
  static HyperparameterNames<OptimizerModel> names = namesOf(static_cast<Optimizers *>(nullptr));
  return names;
}
HyperparameterNames<RateModel> &rates() {
  static HyperparameterNames<RateModel> names = ratesOf(static_cast<RateSchedules *>(nullptr));
  return names;
}

} // namespace detail

std::unique_ptr<OptimizerModel> makeOptimizer(std::string_view name) { return detail::optimizers().make(name); }
std::unique_ptr<RateModel> makeRate(std::string_view name) { return detail::rates().make(name); }

static std::string listed(const std::vector<std::string> &names) {
  std::string result;
  for (size_t i = 0; i < names.size(); ++i)
    result += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return result;
}

std::string knownOptimizers() { return listed(detail::optimizers().all()); }
std::string knownRates() { return listed(detail::rates().all()); }

} // namespace splitcast::nn

namespace splitcast {

template <typename Model, typename Any, typename Make>
static std::optional<std::string> parseNamed(std::string_view text, const char *what, const std::string &known,
                                             Make make, std::optional<Any> *result) {
  const size_t comma = text.find(',');
  std::unique_ptr<Model> model = make(text.substr(0, comma));
  if (!model)
    return "'" + std::string(text.substr(0, comma)) + "' is no " + what + "; it must be " + known;
  if (auto wrong = model->parse(comma == std::string_view::npos ? "" : text.substr(comma + 1)))
    return wrong;
  result->emplace(std::move(model));
  return std::nullopt;
}

std::optional<std::string> parseOptimizer(std::string_view text, std::optional<Optimizer> *optimizer) {
  return parseNamed<nn::OptimizerModel>(text, "optimizer", nn::knownOptimizers(), nn::makeOptimizer, optimizer);
}

std::optional<std::string> parseRateSchedule(std::string_view text, std::optional<RateSchedule> *schedule) {
  return parseNamed<nn::RateModel>(text, "schedule of the learning rate", nn::knownRates(), nn::makeRate, schedule);
}

} // namespace splitcast
