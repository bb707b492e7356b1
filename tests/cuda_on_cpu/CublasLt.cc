//===- CublasLt.cc - cuBLASLt's calls that the project makes ------------------------------------------------------===//
//
// Products of columns, as cuBLASLt counts. A product's operands must lie in memory of the device, as aligned as the
// algorithm was asked for, and its workspace is overwritten.
//
//===----------------------------------------------------------------------===//
#include "tests/cuda_on_cpu/Halves.h"
#include "tests/cuda_on_cpu/Memory.h"
#include "tests/cuda_on_cpu/Runtime.h"

#include "absl/strings/str_cat.h"
#include "cublasLt.h"

#include <algorithm>
#include <cstring>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr uint64_t kAlgorithm = 0x5eed;

struct Operation {
  cudaDataType_t scale;
  cublasOperation_t first = CUBLAS_OP_N, second = CUBLAS_OP_N;
};

struct Matrix {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t toNextColumn;
  int32_t count = 1;
  int64_t toNextMatrix = 0;

  size_t elementBytes() const { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
  size_t bytes() const {
    return ((count - 1) * toNextMatrix + static_cast<int64_t>(columns - 1) * toNextColumn +
            static_cast<int64_t>(rows)) *
           elementBytes();
  }
};

struct Preference {
  uint32_t alignment = 256;
};

template <typename T, typename Handle> T &of(Handle handle) { return *reinterpret_cast<T *>(handle); }

/// Elements as what they are added in.
template <typename T> std::vector<T> widen(const void *data, const Matrix &matrix, int64_t begin, bool isTransposed) {
  const uint64_t rows = isTransposed ? matrix.columns : matrix.rows;
  const uint64_t columns = isTransposed ? matrix.rows : matrix.columns;
  std::vector<T> result(rows * columns);
  for (uint64_t column = 0; column < columns; ++column)
    for (uint64_t row = 0; row < rows; ++row) {
      const int64_t at = begin + static_cast<int64_t>(isTransposed ? column + row * matrix.toNextColumn
                                                                   : row + column * matrix.toNextColumn);
      T &to = result[row + column * rows];
      if (matrix.elementBytes() == sizeof(T))
        to = static_cast<const T *>(data)[at];
      else
        to = static_cast<T>(matrix.type == CUDA_R_16F ? fromHalf(static_cast<const uint16_t *>(data)[at])
                                                      : fromBrain(static_cast<const uint16_t *>(data)[at]));
    }
  return result;
}

template <typename T> void store(void *data, const Matrix &matrix, int64_t at, T value) {
  if (matrix.elementBytes() == sizeof(T))
    static_cast<T *>(data)[at] = value;
  else
    static_cast<uint16_t *>(data)[at] =
        matrix.type == CUDA_R_16F ? toHalf(static_cast<float>(value)) : toBrain(static_cast<float>(value));
}

struct Product {
  Operation operation;
  Matrix a, b, c;
  const void *first, *second;
  void *result, *workspace;
  size_t workspaceBytes;
  uint32_t alignment;

  absl::Status check() const {
    absl::Status status = Memory::get().check(first, a.bytes(), "cublasLtMatmul's first matrix");
    status.Update(Memory::get().check(second, b.bytes(), "cublasLtMatmul's second matrix"));
    status.Update(Memory::get().check(result, c.bytes(), "cublasLtMatmul's result"));
    status.Update(Memory::get().check(workspace, workspaceBytes, "cublasLtMatmul's workspace"));
    for (const void *data : {first, second, const_cast<const void *>(result)})
      if (reinterpret_cast<uintptr_t>(data) % alignment != 0)
        status.Update(absl::InvalidArgumentError(
            absl::StrCat("cublasLtMatmul: the algorithm was asked for at an alignment of ", alignment, " bytes")));
    return status;
  }

  template <typename T> void run() const {
    std::memset(workspace, 0xEE, workspaceBytes);
    const bool transposesA = operation.first == CUBLAS_OP_T, transposesB = operation.second == CUBLAS_OP_T;
    const uint64_t inner = transposesA ? a.rows : a.columns;
    for (int32_t matrix = 0; matrix < c.count; ++matrix) {
      const std::vector<T> left = widen<T>(first, a, matrix * a.toNextMatrix, transposesA);
      const std::vector<T> right = widen<T>(second, b, matrix * b.toNextMatrix, transposesB);
      std::vector<T> column(c.rows);
      for (uint64_t j = 0; j < c.columns; ++j) {
        column.assign(c.rows, T(0));
        for (uint64_t k = 0; k < inner; ++k)
          for (uint64_t i = 0; i < c.rows; ++i)
            column[i] += left[i + k * c.rows] * right[k + j * inner];
        for (uint64_t i = 0; i < c.rows; ++i)
          store(result, c, static_cast<int64_t>(matrix * c.toNextMatrix + i + j * c.toNextColumn), column[i]);
      }
    }
  }
};

/// Whether shapes, counts and types belong together.
bool fit(const Operation &operation, const Matrix &a, const Matrix &b, const Matrix &c) {
  const bool transposesA = operation.first == CUBLAS_OP_T, transposesB = operation.second == CUBLAS_OP_T;
  const uint64_t m = transposesA ? a.columns : a.rows, k = transposesA ? a.rows : a.columns;
  const uint64_t k2 = transposesB ? b.columns : b.rows, n = transposesB ? b.rows : b.columns;
  auto isWhole = [](const Matrix &x) { return x.toNextColumn >= static_cast<int64_t>(x.rows) && x.count >= 1; };
  return m == c.rows && n == c.columns && k == k2 && a.count == c.count && b.count == c.count && a.type == b.type &&
         a.type == c.type && isWhole(a) && isWhole(b) && isWhole(c);
}

} // namespace
} // namespace splitcast::cuda_on_cpu

using namespace splitcast::cuda_on_cpu; // the functions below are C's

extern "C" {

const char *cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "an error of cuBLASLt";
}
const char *cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  static int one;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *operation, cublasComputeType_t, cudaDataType_t scale) {
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{scale});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete &of<Operation>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes) {
  auto &to = of<Operation>(operation);
  if (bytes != sizeof(cublasOperation_t) ||
      (attribute != CUBLASLT_MATMUL_DESC_TRANSA && attribute != CUBLASLT_MATMUL_DESC_TRANSB))
    return CUBLAS_STATUS_INVALID_VALUE;
  (attribute == CUBLASLT_MATMUL_DESC_TRANSA ? to.first : to.second) = *static_cast<const cublasOperation_t *>(value);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t toNextColumn) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Matrix{type, rows, columns, toNextColumn});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &of<Matrix>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t bytes) {
  auto &to = of<Matrix>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(to.count))
    std::memcpy(&to.count, value, bytes);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof(to.toNextMatrix))
    std::memcpy(&to.toNextMatrix, value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &of<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t bytes) {
  auto &to = of<Preference>(preference);
  const bool isAlignment = attribute >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
                           attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES;
  if (!isAlignment)
    return attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof(uint64_t)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
  uint32_t alignment = 0;
  if (bytes != sizeof(alignment))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&alignment, value, bytes);
  to.alignment = std::min(to.alignment, alignment);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[], int *count) {
  constexpr int kMostMatrices = 65'535; // some algorithms take no more
  const bool fits = of<Matrix>(a).count <= kMostMatrices &&
                    fit(of<Operation>(operation), of<Matrix>(a), of<Matrix>(b), of<Matrix>(c));
  *count = fits ? std::min(most, 2) : 0; // alike
  for (int i = 0; i < *count; ++i) {
    results[i].algo.data[0] = kAlgorithm;
    results[i].algo.data[1] = of<Preference>(preference).alignment;
    results[i].state = CUBLAS_STATUS_SUCCESS;
  }
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void *alpha, const void *first,
                              cublasLtMatrixLayout_t a, const void *second, cublasLtMatrixLayout_t b, const void *beta,
                              const void *, cublasLtMatrixLayout_t, void *result, cublasLtMatrixLayout_t c,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspaceBytes,
                              cudaStream_t stream) {
  const auto &described = of<Operation>(operation);
  const bool isDouble = described.scale == CUDA_R_64F;
  const double factor = isDouble ? *static_cast<const double *>(alpha) : *static_cast<const float *>(alpha);
  const double kept = isDouble ? *static_cast<const double *>(beta) : *static_cast<const float *>(beta);
  if (algorithm->data[0] != kAlgorithm || factor != 1 || kept != 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Product product{
      described, of<Matrix>(a), of<Matrix>(b), of<Matrix>(c),  first,
      second,    result,        workspace,     workspaceBytes, static_cast<uint32_t>(algorithm->data[1])};
  cudaError_t error = streamOf(stream).add({"cublasLtMatmul", [product, isDouble] {
                                              absl::Status status = product.check();
                                              if (status.ok() && isDouble)
                                                product.run<double>();
                                              else if (status.ok())
                                                product.run<float>();
                                              return status;
                                            }});
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // extern "C"
