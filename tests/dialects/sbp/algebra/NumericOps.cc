#include "tests/dialects/sbp/algebra/NumericOps.h"

#include <algorithm>
#include <cmath>

namespace splitcast::sbp {

using Tensors = NumericOp::Tensors;

Shape NumericOp::shapeOf(const TensorFactors &tensor) const {
  Shape shape;
  for (const std::vector<int> &dim : tensor) {
    shape.push_back(1);
    for (int factor : dim)
      shape.back() *= spec.factors[factor].extent;
  }
  return shape;
}

namespace {

constexpr FactorKind kParallel = FactorKind::Parallel, kSum = FactorKind::Sum, kWhole = FactorKind::Whole;

/// Factors with the extents given, in order, and the kinds listed.
NumericOp opOf(const std::string &name, const std::vector<int64_t> &extents, const std::vector<FactorKind> &kinds) {
  NumericOp op;
  op.name = name;
  for (size_t i = 0; i < kinds.size(); ++i)
    op.spec.addFactor(extents[i], kinds[i]);
  return op;
}

/// One row-major index into a matrix.
size_t at(const Tensor &matrix, int64_t row, int64_t column) { return row * matrix.shape[1] + column; }

/// out[m, n] = f(operands at [m, n]); all of one shape.
NumericOp elementwise(const std::string &name, const std::vector<int64_t> &extents, size_t operands,
                      std::vector<LinearSet> linear, std::function<double(const std::vector<double> &)> f) {
  NumericOp op = opOf(name, extents, {kParallel, kParallel});
  op.spec.operands.assign(operands, {{0}, {1}});
  op.spec.results = {{{0}, {1}}};
  op.spec.anyShape = true;
  op.spec.linear = std::move(linear);
  op.evaluate = [f](const Tensors &in, Tensors &out) {
    for (const Tensor &operand : in)
      if (operand.shape != out[0].shape)
        return false;
    for (size_t i = 0; i < out[0].values.size(); ++i) {
      std::vector<double> values;
      for (const Tensor &operand : in)
        values.push_back(operand.values[i]);
      out[0].values[i] = f(values);
    }
    return true;
  };
  return op;
}

std::vector<NumericOp> elementwiseOps(const std::vector<int64_t> &extents) {
  return {elementwise("add", extents, 2, {{{0, 1}, {}}}, [](const auto &v) { return v[0] + v[1]; }),
          elementwise("mul", extents, 2, {{{0}, {}}, {{1}, {}}}, [](const auto &v) { return v[0] * v[1]; }),
          elementwise("negate", extents, 1, {{{0}, {}}}, [](const auto &v) { return -v[0]; }),
          elementwise("tanh", extents, 1, {}, [](const auto &v) { return std::tanh(v[0] / 4); }),
          elementwise("select", extents, 3, {{{1, 2}, {}}}, [](const auto &v) { return v[0] > 0 ? v[1] : v[2]; })};
}

/// C[m, n] = sum over k of A[m, k] B[k, n]
NumericOp matmulOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("matmul", extents, {kParallel, kParallel, kSum});
  op.spec.operands = {{{0}, {2}}, {{2}, {1}}};
  op.spec.results = {{{0}, {1}}};
  op.spec.linear = {{{0}, {}}, {{1}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    int64_t m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[1];
    if (in[1].shape[0] != k || out[0].shape != Shape{m, n})
      return false;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          out[0].values[at(out[0], i, j)] += in[0].values[at(in[0], i, l)] * in[1].values[at(in[1], l, j)];
    return true;
  };
  return op;
}

/// C[b, m, n] = sum over k of A[b, m, k] B[b, k, n]
NumericOp batchedMatmulOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("batched matmul", extents, {kParallel, kParallel, kParallel, kSum});
  op.spec.operands = {{{0}, {1}, {3}}, {{0}, {3}, {2}}};
  op.spec.results = {{{0}, {1}, {2}}};
  op.spec.linear = {{{0}, {}}, {{1}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    int64_t b = in[0].shape[0], m = in[0].shape[1], k = in[0].shape[2], n = in[1].shape[2];
    if (in[1].shape != Shape{b, k, n} || out[0].shape != Shape{b, m, n})
      return false;
    for (int64_t i = 0; i < b * m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          out[0].values[i * n + j] += in[0].values[i * k + l] * in[1].values[(i / m * k + l) * n + j];
    return true;
  };
  return op;
}

/// y[m, n] = x[m, n] + b[n]
NumericOp biasAddOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("bias add", extents, {kParallel, kParallel});
  op.spec.operands = {{{0}, {1}}, {{1}}};
  op.spec.results = {{{0}, {1}}};
  op.spec.linear = {{{0, 1}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    if (in[0].shape != out[0].shape || in[1].shape != Shape{in[0].shape[1]})
      return false;
    for (size_t i = 0; i < out[0].values.size(); ++i)
      out[0].values[i] = in[0].values[i] + in[1].values[i % in[0].shape[1]];
    return true;
  };
  return op;
}

/// y[m, n] = x[m, 1] y[m, n]: a dimension of extent 1 that is broadcast has no factor.
NumericOp columnScaleOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("column scale", extents, {kParallel, kParallel});
  op.spec.operands = {{{0}, {}}, {{0}, {1}}};
  op.spec.results = {{{0}, {1}}};
  op.spec.linear = {{{0}, {}}, {{1}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    if (in[1].shape != out[0].shape || in[0].shape != Shape{in[1].shape[0], 1})
      return false;
    for (size_t i = 0; i < out[0].values.size(); ++i)
      out[0].values[i] = in[0].values[i / in[1].shape[1]] * in[1].values[i];
    return true;
  };
  return op;
}

/// y[m, n] = s x[m, n] with a scalar s
NumericOp scalarScaleOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("scalar scale", extents, {kParallel, kParallel});
  op.spec.operands = {{}, {{0}, {1}}};
  op.spec.results = {{{0}, {1}}};
  op.spec.anyShape = true;
  op.spec.linear = {{{0}, {}}, {{1}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    if (!in[0].shape.empty() || in[1].shape != out[0].shape)
      return false;
    for (size_t i = 0; i < out[0].values.size(); ++i)
      out[0].values[i] = in[0].values[0] * in[1].values[i];
    return true;
  };
  return op;
}

/// y[m] = sum over n of x[m, n], or its maximum
NumericOp reduceOp(const std::vector<int64_t> &extents, bool isSum) {
  NumericOp op = opOf(isSum ? "reduce sum" : "reduce max", extents, {kParallel, isSum ? kSum : kWhole});
  op.spec.operands = {{{0}, {1}}};
  op.spec.results = {{{0}}};
  if (isSum)
    op.spec.linear = {{{0}, {}}};
  op.evaluate = [isSum](const Tensors &in, Tensors &out) {
    if (out[0].shape != Shape{in[0].shape[0]})
      return false;
    for (int64_t i = 0; i < in[0].shape[0]; ++i) {
      double &result = out[0].values[i];
      result = isSum ? 0 : -100;
      for (int64_t j = 0; j < in[0].shape[1]; ++j) {
        double value = in[0].values[at(in[0], i, j)];
        result = isSum ? result + value : std::max(result, value);
      }
    }
    return true;
  };
  return op;
}

/// y[] = sum of x[m, n]
NumericOp totalSumOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("total sum", extents, {kSum, kSum});
  op.spec.operands = {{{0}, {1}}};
  op.spec.results = {{}};
  op.spec.linear = {{{0}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    for (double value : in[0].values)
      out[0].values[0] += value;
    return out[0].shape.empty();
  };
  return op;
}

/// y[m, c] = exp(x[m, c]) / sum over c: a row needs all its classes.
NumericOp softmaxOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("softmax", extents, {kParallel, kWhole});
  op.spec.operands = op.spec.results = {{{0}, {1}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    if (in[0].shape != out[0].shape)
      return false;
    for (int64_t i = 0; i < in[0].shape[0]; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < in[0].shape[1]; ++j)
        sum += std::exp(in[0].values[at(in[0], i, j)]);
      for (int64_t j = 0; j < in[0].shape[1]; ++j)
        out[0].values[at(out[0], i, j)] = std::exp(in[0].values[at(in[0], i, j)]) / sum;
    }
    return true;
  };
  return op;
}

NumericOp transposeOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("transpose", extents, {kParallel, kParallel});
  op.spec.operands = {{{0}, {1}}};
  op.spec.results = {{{1}, {0}}};
  op.spec.linear = {{{0}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    if (out[0].shape != Shape{in[0].shape[1], in[0].shape[0]})
      return false;
    for (int64_t i = 0; i < in[0].shape[0]; ++i)
      for (int64_t j = 0; j < in[0].shape[1]; ++j)
        out[0].values[at(out[0], j, i)] = in[0].values[at(in[0], i, j)];
    return true;
  };
  return op;
}

/// y[m, d] = table[ids[m], d]: any id may need any row, so rows are a whole factor.
NumericOp embeddingOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("embedding", extents, {kParallel, kParallel, kWhole});
  op.spec.operands = {{{0}}, {{2}, {1}}};
  op.spec.results = {{{0}, {1}}};
  op.spec.linear = {{{1}, {}}};
  op.indexOperand = 0;
  op.evaluate = [](const Tensors &in, Tensors &out) {
    if (out[0].shape != Shape{in[0].shape[0], in[1].shape[1]})
      return false;
    for (int64_t i = 0; i < in[0].shape[0]; ++i) {
      double id = in[0].values[i];
      if (id < 0 || id >= static_cast<double>(in[1].shape[0]))
        return false;
      for (int64_t j = 0; j < in[1].shape[1]; ++j)
        out[0].values[at(out[0], i, j)] = in[1].values[at(in[1], static_cast<int64_t>(id), j)];
    }
    return true;
  };
  return op;
}

/// dx[m, n] = 2 dy[m, n] and db[n] = sum over m of dy: summed in one result, parallel in the other.
NumericOp biasGradOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("bias grad", extents, {kSum, kParallel});
  op.spec.operands = {{{0}, {1}}};
  op.spec.results = {{{0}, {1}}, {{1}}};
  op.spec.linear = {{{0}, {}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    if (out[0].shape != in[0].shape || out[1].shape != Shape{in[0].shape[1]})
      return false;
    for (size_t i = 0; i < in[0].values.size(); ++i) {
      out[0].values[i] = 2 * in[0].values[i];
      out[1].values[i % in[0].shape[1]] += in[0].values[i];
    }
    return true;
  };
  return op;
}

/// Gradients of a layer norm from dy, the normalized x and gamma (unit variance): with g = dy gamma,
///   dx = g - mean(g) - x mean(g x) along n,   dgamma = sum over m of dy x,   dbeta = sum over m of dy.
/// dx is linear in gamma, on which dgamma and dbeta do not depend.
NumericOp layerNormGradOp(const std::vector<int64_t> &extents) {
  NumericOp op = opOf("layer norm grad", extents, {kSum, kWhole});
  op.spec.operands = {{{0}, {1}}, {{0}, {1}}, {{1}}};
  op.spec.results = {{{0}, {1}}, {{1}}, {{1}}};
  op.spec.linear = {{{0}, {}}, {{2}, {0}}};
  op.evaluate = [](const Tensors &in, Tensors &out) {
    int64_t m = in[0].shape[0], n = in[0].shape[1];
    if (in[1].shape != in[0].shape || out[0].shape != in[0].shape)
      return false;
    if (in[2].shape != Shape{n} || out[1].shape != Shape{n} || out[2].shape != Shape{n})
      return false;
    for (int64_t i = 0; i < m; ++i) {
      double meanG = 0, meanGx = 0;
      for (int64_t j = 0; j < n; ++j) {
        double dy = in[0].values[i * n + j], x = in[1].values[i * n + j];
        meanG += dy * in[2].values[j] / n;
        meanGx += dy * in[2].values[j] * x / n;
        out[1].values[j] += dy * x;
        out[2].values[j] += dy;
      }
      for (int64_t j = 0; j < n; ++j)
        out[0].values[i * n + j] = in[0].values[i * n + j] * in[2].values[j] - meanG - in[1].values[i * n + j] * meanGx;
    }
    return true;
  };
  return op;
}

/// The same elements in the same order.
bool reshape(const Tensors &in, Tensors &out) {
  if (in[0].values.size() != out[0].values.size())
    return false;
  out[0].values = in[0].values;
  return true;
}

NumericOp reshapeOp(const std::string &name, const std::vector<int64_t> &extents, TensorFactors from,
                    TensorFactors to) {
  NumericOp op = opOf(name, extents, std::vector<FactorKind>(extents.size(), kParallel));
  op.spec.operands = {std::move(from)};
  op.spec.results = {std::move(to)};
  op.spec.linear = {{{0}, {}}};
  op.evaluate = reshape;
  return op;
}

} // namespace

NumericOp regroupOp(int64_t a, int64_t b, int64_t c) {
  return reshapeOp("regroup", {a, b, c}, {{0, 1}, {2}}, {{0}, {1, 2}});
}
NumericOp splitDimOp(int64_t a, int64_t b) { return reshapeOp("split dim", {a, b}, {{0, 1}}, {{0}, {1}}); }
NumericOp mergeDimsOp(int64_t a, int64_t b) { return reshapeOp("merge dims", {a, b}, {{0}, {1}}, {{0, 1}}); }

std::vector<NumericOp> numericOps(const std::vector<int64_t> &extents) {
  std::vector<NumericOp> ops = elementwiseOps(extents);
  for (NumericOp op :
       {matmulOp(extents), batchedMatmulOp(extents), biasAddOp(extents), columnScaleOp(extents), scalarScaleOp(extents),
        reduceOp(extents, true), reduceOp(extents, false), totalSumOp(extents), softmaxOp(extents),
        transposeOp(extents), embeddingOp(extents), biasGradOp(extents), layerNormGradOp(extents)})
    ops.push_back(std::move(op));
  return ops;
}

} // namespace splitcast::sbp
