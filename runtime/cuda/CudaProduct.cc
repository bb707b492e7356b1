// cuBLASLt counts columns first: what lies as C [m, n] in rows is C^T there, so C^T = B^T A^T is computed, with no
// copy.
#include "runtime/cuda/CudaProduct.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaStatus.h"

#include "cublasLt.h"
#include "llvm/ADT/bit.h"

#include <map>

namespace splitcast::runtime {
namespace {

/// What cuBLASLt asks for on Hopper. Calls of one stream share it.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;
/// The widest load that an algorithm uses.
constexpr uint32_t kAlignment = 16;

absl::Status blasStatus(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("a matrix product: ", cublasLtGetStatusName(status), ", ", cublasLtGetStatusString(status)));
}

/// Handle and workspace of this process.
struct Library {
  cublasLtHandle_t handle = nullptr;
  void *workspace = nullptr;

  static absl::StatusOr<Library> get() {
    static Library library;
    if (library.handle)
      return library;
    if (absl::Status status = cudaStatus(cudaMalloc(&library.workspace, kWorkspaceBytes), "workspace of products");
        !status.ok())
      return status;
    if (absl::Status status = blasStatus(cublasLtCreate(&library.handle)); !status.ok())
      return status;
    return library;
  }
};

struct Types {
  cudaDataType_t data;
  cublasComputeType_t compute;
  cudaDataType_t scale;
};

Types typesOf(ElementType type, bool allowsTf32) {
  switch (type) {
  case ElementType::F64:
    return {CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
  case ElementType::BF16:
    return {CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  case ElementType::F16:
    return {CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  default:
    return {CUDA_R_32F, allowsTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F};
  }
}

class CudaProduct final : public ProductCall {
public:
  CudaProduct(const StridedProduct &product, Types types, Library library)
      : product(product), types(types), library(library) {}
  CudaProduct(const CudaProduct &) = delete;
  CudaProduct &operator=(const CudaProduct &) = delete;
  ~CudaProduct() override {
    for (cublasLtMatrixLayout_t layout : {first, second, result})
      if (layout)
        cublasLtMatrixLayoutDestroy(layout);
    if (operation)
      cublasLtMatmulDescDestroy(operation);
  }

  absl::Status prepare() {
    const StridedProduct &p = product;
    absl::Status status = blasStatus(cublasLtMatmulDescCreate(&operation, types.compute, types.scale));
    status.Update(setTranspose(CUBLASLT_MATMUL_DESC_TRANSA, p.transposeB));
    status.Update(setTranspose(CUBLASLT_MATMUL_DESC_TRANSB, p.transposeA));
    status.Update(p.transposeB ? makeLayout(first, p.k, p.n, p.ldb, p.strideB)
                               : makeLayout(first, p.n, p.k, p.ldb, p.strideB));
    status.Update(p.transposeA ? makeLayout(second, p.m, p.k, p.lda, p.strideA)
                               : makeLayout(second, p.k, p.m, p.lda, p.strideA));
    status.Update(makeLayout(result, p.n, p.m, p.ldc, p.strideC));
    return status.ok() ? algorithmFor(kAlignment).status() : status;
  }

  absl::Status launch(const std::byte *a, const std::byte *b, std::byte *c, Stream &stream) override {
    const uintptr_t all =
        reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | reinterpret_cast<uintptr_t>(c) | kAlignment;
    absl::StatusOr<const cublasLtMatmulAlgo_t *> algorithm = algorithmFor(uint32_t{1} << llvm::countr_zero(all));
    if (!algorithm.ok())
      return algorithm.status();
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const bool isDouble = types.scale == CUDA_R_64F;
    const void *one = isDouble ? static_cast<const void *>(&one64) : &one32;
    const void *zero = isDouble ? static_cast<const void *>(&zero64) : &zero32;
    return blasStatus(cublasLtMatmul(library.handle, operation, one, b, first, a, second, zero, c, result, c, result,
                                     *algorithm, library.workspace, kWorkspaceBytes, cudaStreamOf(stream)));
  }

private:
  absl::Status setTranspose(cublasLtMatmulDescAttributes_t attribute, bool isTransposed) {
    const cublasOperation_t value = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return blasStatus(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
  }

  /// Columns of `rows` elements.
  absl::Status makeLayout(cublasLtMatrixLayout_t &layout, int64_t rows, int64_t columns, int64_t toNextColumn,
                          int64_t toNextMatrix) const {
    absl::Status status = blasStatus(cublasLtMatrixLayoutCreate(&layout, types.data, rows, columns, toNextColumn));
    const auto count = static_cast<int32_t>(product.count);
    if (status.ok())
      status = blasStatus(
          cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
    if (status.ok())
      status = blasStatus(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                           &toNextMatrix, sizeof(toNextMatrix)));
    return status;
  }

  absl::StatusOr<const cublasLtMatmulAlgo_t *> algorithmFor(uint32_t alignment) {
    if (auto known = algorithms.find(alignment); known != algorithms.end())
      return &known->second;
    cublasLtMatmulPreference_t preference = nullptr;
    absl::Status status = blasStatus(cublasLtMatmulPreferenceCreate(&preference));
    if (!status.ok())
      return status;
    auto set = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
      if (status.ok())
        status = blasStatus(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof(value)));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    for (auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(name, alignment);
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    if (status.ok())
      status = blasStatus(cublasLtMatmulAlgoGetHeuristic(library.handle, operation, first, second, result, result,
                                                         preference, 1, &found, &count));
    cublasLtMatmulPreferenceDestroy(preference);
    if (status.ok() && count == 0)
      status = absl::UnimplementedError(absl::StrCat("cuBLASLt has no algorithm for products of ", product.m, " x ",
                                                     product.n, " x ", product.k, " of ", nameOf(product.type)));
    if (!status.ok())
      return status;
    return &(algorithms[alignment] = found.algo);
  }

  const StridedProduct product;
  const Types types;
  const Library library;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  std::map<uint32_t, cublasLtMatmulAlgo_t> algorithms; ///< by the operands' alignment
};

} // namespace

absl::StatusOr<std::unique_ptr<ProductCall>> createCudaProduct(const StridedProduct &product, bool allowsTf32) {
  absl::StatusOr<Library> library = Library::get();
  if (!library.ok())
    return library.status();
  auto call = std::make_unique<CudaProduct>(product, typesOf(product.type, allowsTf32), *library);
  if (absl::Status status = call->prepare(); !status.ok())
    return status;
  return call;
}

} // namespace splitcast::runtime
