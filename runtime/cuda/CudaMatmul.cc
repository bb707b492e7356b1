//===- CudaMatmul.cc - Matrix products by cuBLASLt -------------------------------------------------===//
//
// "matmul", as runtime/host/LibraryMatmul.cc, also of bf16 and f16, which are added in f32. cuBLASLt counts columns
// first: what lies as C [m, n] in rows is C^T there, so C^T = B^T A^T is computed, with no copy. The algorithm is
// chosen once, when the call is made; the same sizes give the same sums.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaLibraryCall.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/host/LaunchCheck.h"
#include "runtime/host/LibraryConfig.h"

#include "cublasLt.h"

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "matmul";
/// What cuBLASLt asks for on Hopper. Calls of one stream share it.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

absl::Status blasStatus(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("library call '", kName, "': ", cublasLtGetStatusName(status), ", ",
                                             cublasLtGetStatusString(status)));
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

struct Sizes {
  int64_t products, m, n, k;
  bool transposeA, transposeB;
};

class CudaMatmul : public Launchable {
public:
  CudaMatmul(const Sizes &sizes, Types types, std::vector<int64_t> argumentBytes, Library library)
      : sizes(sizes), types(types), argumentBytes(std::move(argumentBytes)), library(library) {}
  ~CudaMatmul() override {
    for (cublasLtMatrixLayout_t layout : {first, second, result})
      if (layout)
        cublasLtMatrixLayoutDestroy(layout);
    if (operation)
      cublasLtMatmulDescDestroy(operation);
  }

  absl::Status prepare() {
    absl::Status status = blasStatus(cublasLtMatmulDescCreate(&operation, types.compute, types.scale));
    status.Update(setTranspose(CUBLASLT_MATMUL_DESC_TRANSA, sizes.transposeB));
    status.Update(setTranspose(CUBLASLT_MATMUL_DESC_TRANSB, sizes.transposeA));
    status.Update(sizes.transposeB ? makeLayout(first, sizes.k, sizes.n) : makeLayout(first, sizes.n, sizes.k));
    status.Update(sizes.transposeA ? makeLayout(second, sizes.m, sizes.k) : makeLayout(second, sizes.k, sizes.m));
    status.Update(makeLayout(result, sizes.n, sizes.m));
    return status.ok() ? chooseAlgorithm() : status;
  }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (absl::Status status = checkBuffers(what, argumentBytes, buffers); !status.ok())
      return status;
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const bool isDouble = types.scale == CUDA_R_64F;
    const void *one = isDouble ? static_cast<const void *>(&one64) : &one32;
    const void *zero = isDouble ? static_cast<const void *>(&zero64) : &zero32;
    return blasStatus(cublasLtMatmul(library.handle, operation, one, buffers[1].data, first, buffers[0].data, second,
                                     zero, buffers[2].data, result, buffers[2].data, result, &algorithm,
                                     library.workspace, kWorkspaceBytes, cudaStreamOf(stream)));
  }

private:
  absl::Status setTranspose(cublasLtMatmulDescAttributes_t attribute, bool isTransposed) {
    const cublasOperation_t value = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return blasStatus(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
  }

  /// Columns of `rows` elements, one after the other; products likewise.
  absl::Status makeLayout(cublasLtMatrixLayout_t &layout, int64_t rows, int64_t columns) {
    absl::Status status = blasStatus(cublasLtMatrixLayoutCreate(&layout, types.data, rows, columns, rows));
    const auto count = static_cast<int32_t>(sizes.products);
    const int64_t stride = rows * columns;
    if (status.ok())
      status = blasStatus(
          cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
    if (status.ok())
      status = blasStatus(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                           sizeof(stride)));
    return status;
  }

  absl::Status chooseAlgorithm() {
    cublasLtMatmulPreference_t preference = nullptr;
    absl::Status status = blasStatus(cublasLtMatmulPreferenceCreate(&preference));
    if (!status.ok())
      return status;
    status = blasStatus(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                             &kWorkspaceBytes, sizeof(kWorkspaceBytes)));
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    if (status.ok())
      status = blasStatus(cublasLtMatmulAlgoGetHeuristic(library.handle, operation, first, second, result, result,
                                                         preference, 1, &found, &count));
    cublasLtMatmulPreferenceDestroy(preference);
    if (status.ok() && count == 0)
      return absl::UnimplementedError(
          absl::StrCat(what, ": cuBLASLt has no algorithm for ", sizes.m, " x ", sizes.n, " x ", sizes.k));
    algorithm = found.algo;
    return status;
  }

  const std::string what = std::string("library call '") + kName + "'";
  const Sizes sizes;
  const Types types;
  const std::vector<int64_t> argumentBytes;
  const Library library;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
};

/// A product with nothing to add, or nothing to compute.
class EmptyProduct : public Launchable {
public:
  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    return cudaStatus(cudaMemsetAsync(buffers.back().data, 0, buffers.back().bytes, cudaStreamOf(stream)), "matmul");
  }
};

absl::StatusOr<std::unique_ptr<Launchable>> create(mlir::DictionaryAttr attribute,
                                                   const CudaLibraryCallOptions &options) {
  LibraryConfig config(kName, attribute);
  Sizes sizes{config.countOr("products", 1), config.count("m"),         config.count("n"), config.count("k"),
              config.flag("transpose_a"),    config.flag("transpose_b")};
  ElementType type = config.type("type");
  std::vector<int64_t> argumentBytes = {config.bytes({sizes.products, sizes.m, sizes.k}, type),
                                        config.bytes({sizes.products, sizes.k, sizes.n}, type),
                                        config.bytes({sizes.products, sizes.m, sizes.n}, type)};
  if (absl::Status status = config.status(); !status.ok())
    return status;
  if (argumentBytes[0] == 0 || argumentBytes[1] == 0)
    return std::make_unique<EmptyProduct>();
  absl::StatusOr<Library> library = Library::get();
  if (!library.ok())
    return library.status();
  auto product =
      std::make_unique<CudaMatmul>(sizes, typesOf(type, options.allowsTf32), std::move(argumentBytes), *library);
  if (absl::Status status = product->prepare(); !status.ok())
    return status;
  return product;
}

const CudaLibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
