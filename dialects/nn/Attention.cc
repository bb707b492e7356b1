// Scaled dot-product attention and its gradient.
#include "dialects/nn/Nn.h"
#include "dialects/sbp/ValueNames.h"
#include "dialects/sbp/algebra/Sizes.h"

#include <limits>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// The loops of attention; `Width` is also the loop over the elements of a key or value.
enum Loop : unsigned { Sample, Position, Head, Width, Key };

template <typename OpT> LogicalResult verifyOperands(OpT op) {
  RankedTensorType query = undecided(op.getQuery().getType()), key = undecided(op.getKey().getType()),
                   value = undecided(op.getValue().getType());
  bool fits = query.getRank() == 4 && key.getRank() == 4 && key == value &&
              query.getElementType() == key.getElementType() && query.getDimSize(0) == key.getDimSize(0) &&
              query.getDimSize(2) == key.getDimSize(2) && query.getDimSize(3) == key.getDimSize(3);
  if (!fits)
    return op.emitOpError() << "takes query " << query << ", key " << key << " and value " << value
                            << "; all must have the dimensions samples, positions, heads, width and one element type, "
                               "key and value one shape, and the query their samples, heads and width";
  // Check the extents for the gradient, which needs more memory: a function
  // that can be run should be trainable, too.
  const exec::AttentionExtents extents{/*isGradient=*/true, op.getMask() != nullptr, query.getDimSize(0),
                                       query.getDimSize(1), key.getDimSize(1),       query.getDimSize(2),
                                       query.getDimSize(3), sbp::elementBytes(query)};
  if (!exec::isAddressable(extents))
    return op.emitOpError() << "takes query " << query << " and key " << key
                            << ", for whose scores a device needs more than " << sbp::kMostBytesText
                            << "; make them smaller";
  if (!std::isfinite(op.getScale().convertToDouble()))
    return op.emitOpError() << "has scale = " << op.getScale().convertToDouble() << "; it must be finite";
  if (!op.getMask())
    return success();
  ArrayRef<int64_t> mask = cast<RankedTensorType>(op.getMask().getType()).getShape();
  if (mask != key.getShape().take_front(2))
    return op.emitOpError() << "takes key " << key << " and mask " << undecided(op.getMask().getType())
                            << "; a mask must have the key's first two dimensions, samples and keys";
  return success();
}

/// The factors of attention. Samples and heads are parallel loops, and
/// positions, too, unless the keys that a position sees depend on its number.
struct Factors {
  sbp::LoopSpec spec;
  sbp::TensorFactors query, key, mask, statistics;

  template <typename OpT> explicit Factors(OpT op, bool positionsAreApart) {
    ArrayRef<int64_t> q = op.getQuery().getType().getShape(), k = op.getKey().getType().getShape();
    int sample = spec.addFactor(q[0]);
    int position = spec.addFactor(q[1], positionsAreApart ? sbp::FactorKind::Parallel : sbp::FactorKind::Whole);
    int head = spec.addFactor(q[2]), width = spec.addFactor(q[3], sbp::FactorKind::Whole);
    int keys = spec.addFactor(k[1], sbp::FactorKind::Whole);
    query = {{sample}, {position}, {head}, {width}};
    key = {{sample}, {keys}, {head}, {width}};
    mask = {{sample}, {keys}};
    statistics = {{sample}, {head}, {position}};
  }
};

/// Builds attention as linalg over the loops above.
class AttentionBuilder {
public:
  template <typename OpT>
  AttentionBuilder(OpT op, OpBuilder &builder, Value query, Value key, Value mask)
      : builder(builder), loc(op.getLoc()), type(undecided(op.getQuery().getType())),
        keys(op.getKey().getType().getDimSize(1)), scale(op.getScale().convertToDouble()), isCausal(op.getCausal()),
        mask(mask) {
    scores = generic({Sample, Position, Head, Key}, {query, key}, {kQuery, kKey},
                     [&](auto &b, Location l, auto x) { return add(b, l, x[2], multiply(b, l, x[0], x[1])); });
  }

  static constexpr unsigned kQueryLoops[] = {Sample, Position, Head, Width}, kKeyLoops[] = {Sample, Key, Head, Width},
                            kScoreLoops[] = {Sample, Position, Head, Key}, kRowLoops[] = {Sample, Position, Head},
                            kStatisticsLoops[] = {Sample, Head, Position}, kMaskLoops[] = {Sample, Key};
  static constexpr ArrayRef<unsigned> kQuery = kQueryLoops, kKey = kKeyLoops, kScores = kScoreLoops, kRows = kRowLoops,
                                      kStatistics = kStatisticsLoops, kMask = kMaskLoops;
  using Body = function_ref<Value(OpBuilder &, Location, SmallVector<Value>)>;

  /// Builds a tensor over the loops `result`. The other loops of the inputs are
  /// reduced by `body`, beginning with `init`. Inputs that are null are left
  /// out.
  Value generic(ArrayRef<unsigned> result, ArrayRef<Value> inputs, ArrayRef<ArrayRef<unsigned>> loops, Body body,
                double init = 0.0) {
    return build(result, inputs, loops, body, init);
  }
  Value map(ArrayRef<unsigned> result, ArrayRef<Value> inputs, ArrayRef<ArrayRef<unsigned>> loops, Body body) {
    return build(result, inputs, loops, body, std::nullopt);
  }

  /// Returns the softmax of the scores, which is 0 where a position sees no
  /// key, or only scores of -infinity.
  Value probabilities() {
    max = generic(
        {Sample, Position, Head}, {scores, mask}, {kScores, kMask},
        [&](auto &b, Location l, auto x) {
          Value seen = select(b, l, isSeen(b, l, x), scaled(b, l, x[0]), kUnseen);
          return b.template create<arith::MaximumFOp>(l, x.back(), seen).getResult();
        },
        kUnseen);
    weights = map(
        {Sample, Position, Head, Key}, {scores, max, mask}, {kScores, kRows, kMask}, [&](auto &b, Location l, auto x) {
          Value isUnseen =
              b.template create<arith::CmpFOp>(l, arith::CmpFPredicate::OEQ, x[1], number(b, l, x[1], kUnseen));
          Value shift = b.template create<arith::SelectOp>(l, isUnseen, number(b, l, x[1], 0.0), x[1]);
          Value shifted = b.template create<arith::SubFOp>(l, scaled(b, l, x[0]), shift);
          return select(b, l, isSeen(b, l, x), b.template create<math::ExpOp>(l, shifted).getResult(), 0.0);
        });
    sums = generic({Sample, Position, Head}, {weights}, {kScores},
                   [&](auto &b, Location l, auto x) { return add(b, l, x[1], x[0]); });
    return map({Sample, Position, Head, Key}, {weights, sums}, {kScores, kRows}, [&](auto &b, Location l, auto x) {
      Value divisor = b.template create<arith::SelectOp>(l, isNone(b, l, x[1]), number(b, l, x[1], 1.0), x[1]);
      return b.template create<arith::DivFOp>(l, x[0], divisor).getResult();
    });
  }

  /// Returns the logarithm of the sum over the keys that a position sees of
  /// exp(scaled score). Requires that `probabilities` was called.
  Value statistics() {
    return map(kStatistics, {max, sums}, {kRows, kRows}, [&](auto &b, Location l, auto x) {
      Value logarithm = add(b, l, x[0], b.template create<math::LogOp>(l, x[1]));
      return b.template create<arith::SelectOp>(l, isNone(b, l, x[1]), number(b, l, x[1], 0.0), logarithm).getResult();
    });
  }

  /// Returns the softmax of the scores, given the statistics.
  Value probabilities(Value statistics) {
    return map({Sample, Position, Head, Key}, {scores, statistics, mask}, {kScores, kStatistics, kMask},
               [&](auto &b, Location l, auto x) {
                 Value shifted = b.template create<arith::SubFOp>(l, scaled(b, l, x[0]), x[1]);
                 return select(b, l, isSeen(b, l, x), b.template create<math::ExpOp>(l, shifted).getResult(), 0.0);
               });
  }

  static Value multiply(OpBuilder &b, Location l, Value x, Value y) { return b.create<arith::MulFOp>(l, x, y); }
  static Value add(OpBuilder &b, Location l, Value x, Value y) { return b.create<arith::AddFOp>(l, x, y); }
  Value scaled(OpBuilder &b, Location l, Value x) {
    return multiply(b, l, x, scalarConstant(b, l, x.getType(), scale));
  }

private:
  /// The score of a key that is not seen. Since its exponential is 0, it weighs
  /// nothing beside any other score. If a position sees no key, or only scores
  /// of -infinity, -infinity is also the maximum, and is not subtracted.
  static constexpr double kUnseen = -std::numeric_limits<double>::infinity();

  static Value number(OpBuilder &b, Location l, Value like, double value) {
    return scalarConstant(b, l, like.getType(), value);
  }
  /// Whether no key has a weight, given the sum of the weights.
  static Value isNone(OpBuilder &b, Location l, Value sum) {
    return b.create<arith::CmpFOp>(l, arith::CmpFPredicate::OEQ, sum, number(b, l, sum, 0.0));
  }
  static Value select(OpBuilder &b, Location l, Value condition, Value value, double otherwise) {
    return condition ? b.create<arith::SelectOp>(l, condition, value, scalarConstant(b, l, value.getType(), otherwise))
                           .getResult()
                     : value;
  }

  /// Returns whether the position sees the key; null if it always does. The
  /// mask, if there is one, is the only integer among `x`, the arguments of a
  /// body.
  Value isSeen(OpBuilder &b, Location l, ArrayRef<Value> x) {
    Value seen;
    if (isCausal)
      seen = b.create<arith::CmpIOp>(l, arith::CmpIPredicate::sle, b.create<linalg::IndexOp>(l, indexOf[Key]),
                                     b.create<linalg::IndexOp>(l, indexOf[Position]));
    if (!mask)
      return seen;
    Value entry;
    for (Value value : x)
      if (isa<IntegerType>(value.getType()))
        entry = value;
    Value isOn =
        b.create<arith::CmpIOp>(l, arith::CmpIPredicate::ne, entry, scalarConstant(b, l, entry.getType(), 0.0));
    return seen ? b.create<arith::AndIOp>(l, seen, isOn).getResult() : isOn;
  }

  int64_t extentOf(unsigned loop) { return loop == Key ? keys : type.getDimSize(loop); }

  Value build(ArrayRef<unsigned> result, ArrayRef<Value> inputs, ArrayRef<ArrayRef<unsigned>> loops, Body body,
              std::optional<double> init) {
    SmallVector<unsigned> order(result);
    for (ArrayRef<unsigned> used : loops)
      for (unsigned loop : used)
        if (!llvm::is_contained(order, loop))
          order.push_back(loop);
    SmallVector<utils::IteratorType> iterators(order.size(), utils::IteratorType::reduction);
    std::fill_n(iterators.begin(), result.size(), utils::IteratorType::parallel);
    for (auto [index, loop] : llvm::enumerate(order))
      indexOf[loop] = index;
    SmallVector<Value> values;
    SmallVector<AffineMap> maps;
    auto mapOf = [&](ArrayRef<unsigned> used) {
      SmallVector<AffineExpr> dims;
      for (unsigned loop : used)
        dims.push_back(builder.getAffineDimExpr(indexOf[loop]));
      return AffineMap::get(order.size(), 0, dims, builder.getContext());
    };
    for (auto [input, used] : llvm::zip(inputs, loops))
      if (input) {
        values.push_back(input);
        maps.push_back(mapOf(used));
      }
    maps.push_back(mapOf(result));
    SmallVector<int64_t> shape;
    for (unsigned loop : result)
      shape.push_back(extentOf(loop));
    return buildGeneric(builder, loc, RankedTensorType::get(shape, type.getElementType()), values, maps, iterators,
                        init, [&](OpBuilder &b, Location l, ValueRange x) { return body(b, l, llvm::to_vector(x)); });
  }

  OpBuilder &builder;
  Location loc;
  RankedTensorType type; ///< of the query
  int64_t keys;
  double scale;
  bool isCausal;
  Value mask, scores;
  Value max, weights, sums; ///< of `probabilities`
  unsigned indexOf[5] = {};
};

using B = AttentionBuilder;

template <typename OpT> std::optional<LibraryCall> libraryCall(OpT op, bool isGradient) {
  RankedTensorType query = op.getQuery().getType(), key = op.getKey().getType();
  Type mask = op.getMask() ? cast<RankedTensorType>(op.getMask().getType()).getElementType() : Type();
  auto call =
      exec::AttentionAttr::get(op.getContext(), isGradient, query.getDimSize(0), query.getDimSize(1), key.getDimSize(1),
                               query.getDimSize(2), query.getDimSize(3), op.getScaleAttr(), op.getCausal(),
                               query.getElementType(), mask, op.getStatistics() != nullptr, std::nullopt);
  const std::optional<int64_t> workspace = exec::hostAttentionWorkspace(call.getExtents());
  return workspace ? std::optional(LibraryCall{call, *workspace}) : std::nullopt;
}

/// Returns the multiplications and additions of one product over all pairs of a
/// position and a key that it sees: of as many keys as positions about half.
template <typename OpT> int64_t productFlops(OpT op) {
  const int64_t positions = op.getQuery().getType().getDimSize(1), keys = op.getKey().getType().getDimSize(1);
  const int64_t all = 2 * sbp::numElements(sbp::shapeOf(op.getQuery().getType())) * keys;
  return op.getCausal() && positions == keys ? all / 2 : all;
}

} // namespace

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query, Value key, Value value, Value mask,
                        double scale, bool causal) {
  build(builder, state, undecided(query.getType()), /*statistics=*/Type(), query, key, value, mask,
        builder.getF64FloatAttr(scale), causal ? builder.getUnitAttr() : UnitAttr());
}

RankedTensorType AttentionOp::statisticsTypeOf(RankedTensorType query) {
  Type element = query.getElementType();
  if (!element.isF64()) // bf16 and f16 have too few digits for a logarithm
    element = Float32Type::get(query.getContext());
  return RankedTensorType::get({query.getDimSize(0), query.getDimSize(2), query.getDimSize(1)}, element);
}

/// Without statistics, the op has the names of an op of one result.
void AttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (StringAttr name = sbp::valueNameOf(getLoc()))
    setName(getResult(), name);
  if (getStatistics())
    setName(getStatistics(), "statistics");
}

sbp::LoopSpec AttentionOp::getLoopSpec() {
  Factors factors(*this, !getCausal());
  factors.spec.operands = {factors.query, factors.key, factors.key};
  if (getMask())
    factors.spec.operands.push_back(factors.mask);
  factors.spec.results = {factors.query};
  factors.spec.linear = {{{2}, {0}}}; // the statistics do not depend on the value
  if (getStatistics())
    factors.spec.results.push_back(factors.statistics);
  return factors.spec;
}

LogicalResult AttentionOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  const RankedTensorType query = undecided(getQuery().getType());
  types.push_back(query);
  if (failed(verifyOperands(*this)))
    return failure();
  if (getStatistics())
    types.push_back(statisticsTypeOf(query));
  return success();
}

SmallVector<Value> AttentionOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  AttentionBuilder attention(*this, builder, x[0], x[1], getMask() ? x[3] : Value());
  SmallVector<Value> results = {attention.generic(B::kQuery, {attention.probabilities(), x[2]}, {B::kScores, B::kKey},
                                                  [](OpBuilder &b, Location l, SmallVector<Value> v) {
                                                    return B::add(b, l, v[2], B::multiply(b, l, v[0], v[1]));
                                                  })};
  if (getStatistics())
    results.push_back(attention.statistics());
  return results;
}

int64_t AttentionOp::getFlops() { return 2 * productFlops(*this); }

std::optional<LibraryCall> AttentionOp::getLibraryCall() { return libraryCall(*this, /*isGradient=*/false); }

SmallVector<Value> AttentionOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  SmallVector<Value> result(getNumOperands()), kept;
  if (!g[0]) // only the statistics, which are constants, are used
    return result;
  if (getMask())
    kept.push_back(getMask());
  if (getStatistics())
    kept.append({getResult(), getStatistics()});
  Type query = undecided(getQuery().getType()), key = undecided(getKey().getType());
  auto gradient = b.create<AttentionGradOp>(getLoc(), query, key, key, g[0], getQuery(), getKey(), getValue(), kept,
                                            getScaleAttr(), getCausalAttr());
  for (unsigned i : {0, 1, 2})
    if (needed[i])
      result[i] = gradient.getResult(i);
  return result;
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

sbp::LoopSpec AttentionGradOp::getLoopSpec() {
  Factors factors(*this, /*positionsAreApart=*/false);
  factors.spec.operands = {factors.query, factors.query, factors.key, factors.key};
  if (getMask())
    factors.spec.operands.push_back(factors.mask);
  if (getStatistics())
    factors.spec.operands.insert(factors.spec.operands.end(), {factors.query, factors.statistics});
  factors.spec.results = {factors.query, factors.key, factors.key};
  factors.spec.linear = {{{0}, {}}};
  return factors.spec;
}

/// Verifies what comes after the value, which `verifyOperands` relies on.
static LogicalResult verifyKept(AttentionGradOp op) {
  const size_t count = op.getKept().size();
  const Type mask = op.getMask() ? getElementTypeOrSelf(op.getMask().getType()) : Type();
  if (count <= 3 && (!mask || isIndexElement(mask)))
    return success();
  InFlightDiagnostic error = op.emitOpError() << "takes ";
  llvm::interleaveComma(op.getKept(), error, [&](Value value) { error << undecided(value.getType()); });
  return error << " after query, key and value; there come at most a mask of i32 or i64 and both results of "
                  "nn.attention, its output and its statistics";
}

/// Verifies the operands that are results of nn.attention.
static LogicalResult verifyResultsOf(AttentionGradOp op, RankedTensorType query) {
  if (!op.getStatistics())
    return success();
  const RankedTensorType output = undecided(op.getOutput().getType()),
                         statistics = undecided(op.getStatistics().getType());
  if (output == query && statistics == AttentionOp::statisticsTypeOf(query))
    return success();
  return op.emitOpError() << "takes output " << output << " and statistics " << statistics << " for query " << query
                          << "; these must be " << query << " and " << AttentionOp::statisticsTypeOf(query)
                          << ", the results of nn.attention";
}

LogicalResult AttentionGradOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  RankedTensorType query = undecided(getQuery().getType()), key = undecided(getKey().getType());
  types.assign({query, key, key});
  if (failed(verifyKept(*this)) || failed(verifyOperands(*this)))
    return failure();
  if (undecided(getGradient().getType()) == query)
    return verifyResultsOf(*this, query);
  return emitOpError() << "takes gradient " << undecided(getGradient().getType()) << " and query " << query
                       << "; these must have one shape and element type";
}

SmallVector<Value> AttentionGradOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  Value g = x[0], q = x[1], k = x[2], v = x[3];
  AttentionBuilder attention(*this, builder, q, k, getMask() ? x[4] : Value());
  auto sumProduct = [](OpBuilder &b, Location l, SmallVector<Value> a) {
    return B::add(b, l, a[2], B::multiply(b, l, a[0], a[1]));
  };
  const bool isKept = getStatistics() != nullptr;
  Value p = isKept ? attention.probabilities(x.back()) : attention.probabilities();
  Value dp = attention.generic(B::kScores, {g, v}, {B::kQuery, B::kKey}, sumProduct);
  Value dot = isKept ? attention.generic(B::kRows, {g, x.drop_back().back()}, {B::kQuery, B::kQuery}, sumProduct)
                     : attention.generic(B::kRows, {p, dp}, {B::kScores, B::kScores}, sumProduct);
  Value ds = attention.map(B::kScores, {p, dp, dot}, {B::kScores, B::kScores, B::kRows},
                           [&](OpBuilder &b, Location l, SmallVector<Value> a) {
                             Value centered = b.create<arith::SubFOp>(l, a[1], a[2]);
                             return attention.scaled(b, l, B::multiply(b, l, a[0], centered));
                           });
  return {attention.generic(B::kQuery, {ds, k}, {B::kScores, B::kKey}, sumProduct),
          attention.generic(B::kKey, {ds, q}, {B::kScores, B::kQuery}, sumProduct),
          attention.generic(B::kKey, {p, g}, {B::kScores, B::kQuery}, sumProduct)};
}

int64_t AttentionGradOp::getFlops() { return 5 * productFlops(*this); }

std::optional<LibraryCall> AttentionGradOp::getLibraryCall() { return libraryCall(*this, /*isGradient=*/true); }
