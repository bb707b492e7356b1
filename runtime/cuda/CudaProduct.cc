// cuBLASLt expects matrices by columns. A row-major C [m, n] is C^T to it, so
// it computes C^T = B^T A^T, without a copy.
//
// cuBLASLt proposes several algorithms for a product, by its sizes. The first
// is only likely to be the fastest. If CudaProductOptions asks for it and the
// product is large enough, those that give the first one's bits are timed.
#include "runtime/cuda/CudaProduct.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaScratch.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/cuda/FastestWay.h"

#include "cublasLt.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

namespace splitcast::runtime {
namespace {

/// The size that cuBLASLt recommends for Hopper. Calls of one stream share the
/// workspace.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;
/// The alignment of the widest load that an algorithm uses.
constexpr uint32_t kAlignment = 16;
/// How many algorithms are compared.
constexpr size_t kMostAlgorithms = 8;

absl::Status blasStatus(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cuBLASLt failed for a matrix product: ", cublasLtGetStatusName(status),
                                             ", ", cublasLtGetStatusString(status)));
}

/// The handle and the workspace of this process.
struct Library {
  cublasLtHandle_t handle = nullptr;
  void *workspace = nullptr;

  static absl::StatusOr<Library> get() {
    static Library library;
    if (library.handle)
      return library;
    SPLITCAST_RETURN_IF_ERROR(
        cudaStatus(cudaMalloc(&library.workspace, kWorkspaceBytes), "allocating the workspace of matrix products"));
    SPLITCAST_RETURN_IF_ERROR(blasStatus(cublasLtCreate(&library.handle)));
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

/// Returns the number of elements from the first element of the first matrix to
/// the last of the last one. The matrices are row-major.
int64_t extentOf(int64_t rows, int64_t columns, int64_t toNextRow, int64_t count, int64_t toNextMatrix) {
  return (count - 1) * toNextMatrix + (rows - 1) * toNextRow + columns;
}

/// Fills the memory with random numbers of both signs, from 1/8 to 16, so that
/// different orders of addition give different bits. (Sums of small floats of
/// one magnitude would be exact in any order.) At most 2^20 numbers are drawn,
/// and then repeated.
absl::Status fillWithNumbers(const CudaScratch &memory, ElementType type) {
  const int64_t element = bytesOf(type), drawn = std::min(memory.bytes / element, int64_t{1} << 20);
  const int fraction = type == ElementType::F64   ? 52
                       : type == ElementType::F32 ? 23
                       : type == ElementType::F16 ? 10
                                                  : 7;
  const int width = static_cast<int>(8 * element);
  const uint64_t exponent = (uint64_t{1} << (width - 2)) - (uint64_t{1} << fraction), sign = uint64_t{1} << (width - 1);
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(drawn * element);
  for (int64_t i = 0; i < drawn; ++i) {
    const uint64_t bits = random();
    const uint64_t magnitude = exponent + ((bits >> 53) % 7 << fraction) - (uint64_t{3} << fraction);
    const uint64_t number = (bits & sign) | magnitude | (bits & ((uint64_t{1} << fraction) - 1));
    std::memcpy(bytes.data() + i * element, &number, element); // little-endian: the lower bytes are the element
  }
  absl::Status status =
      cudaStatus(cudaMemcpy(memory.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "a matrix");
  for (int64_t done = drawn * element; done < memory.bytes && status.ok();) {
    const int64_t more = std::min(done, memory.bytes - done);
    status = cudaStatus(cudaMemcpy(memory.data() + done, memory.data(), more, cudaMemcpyDeviceToDevice), "a matrix");
    done += more;
  }
  // Copies within the device do not block, but a copy to the host does and runs
  // behind them. Without it, other streams would read too early.
  return status.ok() ? cudaStatus(cudaMemcpy(bytes.data(), memory.data(), 1, cudaMemcpyDeviceToHost), "a matrix")
                     : status;
}

class CudaProduct final : public ProductCall {
public:
  CudaProduct(const StridedProduct &product, const CudaProductOptions &options, Library library)
      : product(product), types(typesOf(product.type, options.allowsTf32 || product.roundsToTf32)),
        leastTimedFlops(options.leastTimedFlops), library(library) {}
  CudaProduct(const CudaProduct &) = delete;
  CudaProduct &operator=(const CudaProduct &) = delete;
  ~CudaProduct() override {
    for (cublasLtMatrixLayout_t layout : {first, second, result})
      if (layout)
        cublasLtMatrixLayoutDestroy(layout);
    if (operation)
      cublasLtMatmulDescDestroy(operation);
  }

  /// Creates the descriptors, and chooses the algorithm for aligned operands.
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
    SPLITCAST_ASSIGN_OR_RETURN(const cublasLtMatmulAlgo_t *algorithm,
                               algorithmFor(uint32_t{1} << llvm::countr_zero(all)));
    return run(*algorithm, a, b, c, library.workspace, cudaStreamOf(stream));
  }

private:
  absl::Status run(const cublasLtMatmulAlgo_t &algorithm, const void *a, const void *b, void *c, void *workspace,
                   cudaStream_t stream) const {
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const bool isDouble = types.scale == CUDA_R_64F;
    const void *one = isDouble ? static_cast<const void *>(&one64) : &one32;
    const void *zero = isDouble ? static_cast<const void *>(&zero64) : &zero32;
    return blasStatus(cublasLtMatmul(library.handle, operation, one, b, first, a, second, zero, c, result, c, result,
                                     &algorithm, workspace, kWorkspaceBytes, stream));
  }

  absl::Status setTranspose(cublasLtMatmulDescAttributes_t attribute, bool isTransposed) {
    const cublasOperation_t value = isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return blasStatus(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
  }

  /// Makes the layout of a matrix by columns; a column has `rows` elements.
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

  /// Returns the algorithm for operands of this alignment, and remembers it.
  absl::StatusOr<const cublasLtMatmulAlgo_t *> algorithmFor(uint32_t alignment) {
    if (auto known = algorithms.find(alignment); known != algorithms.end())
      return &known->second;
    cublasLtMatmulPreference_t preference = nullptr;
    absl::Status status = blasStatus(cublasLtMatmulPreferenceCreate(&preference));
    SPLITCAST_RETURN_IF_ERROR(status);
    auto set = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
      if (status.ok())
        status = blasStatus(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof(value)));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    for (auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(name, alignment);
    std::vector<cublasLtMatmulHeuristicResult_t> found(isTimed(alignment) ? kMostAlgorithms : 1);
    int count = 0;
    if (status.ok())
      status =
          blasStatus(cublasLtMatmulAlgoGetHeuristic(library.handle, operation, first, second, result, result,
                                                    preference, static_cast<int>(found.size()), found.data(), &count));
    cublasLtMatmulPreferenceDestroy(preference);
    found.resize(status.ok() ? count : 0);
    llvm::erase_if(found,
                   [](const cublasLtMatmulHeuristicResult_t &one) { return one.state != CUBLAS_STATUS_SUCCESS; });
    if (status.ok() && found.empty())
      status = absl::UnimplementedError(absl::StrCat("cuBLASLt has no algorithm for products of ", product.m, " x ",
                                                     product.n, " x ", product.k, " of ", nameOf(product.type)));
    SPLITCAST_RETURN_IF_ERROR(status);
    SPLITCAST_ASSIGN_OR_RETURN(cublasLtMatmulAlgo_t chosen, fastestOf(found));
    return &(algorithms[alignment] = chosen);
  }

  bool isTimed(uint32_t alignment) const {
    const StridedProduct &p = product;
    return leastTimedFlops && alignment == kAlignment &&
           2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k * p.count) >= *leastTimedFlops;
  }

  /// Returns the fastest of the algorithms with the first one's bits. Products
  /// of the same sizes are timed once per process.
  absl::StatusOr<cublasLtMatmulAlgo_t> fastestOf(const std::vector<cublasLtMatmulHeuristicResult_t> &found) const {
    if (found.size() < 2)
      return found.front().algo;
    const StridedProduct &p = product;
    static auto *known = new std::map<Key, cublasLtMatmulAlgo_t>;
    const Key key = {p.m,       p.n,       p.k,       p.count,      p.lda,        p.ldb,  p.ldc,
                     p.strideA, p.strideB, p.strideC, p.transposeA, p.transposeB, p.type, types.compute};
    if (auto algorithm = known->find(key); algorithm != known->end())
      return algorithm->second;
    const int64_t element = bytesOf(p.type);
    const CudaScratch a(element * (p.transposeA ? extentOf(p.k, p.m, p.lda, p.count, p.strideA)
                                                : extentOf(p.m, p.k, p.lda, p.count, p.strideA)));
    const CudaScratch b(element * (p.transposeB ? extentOf(p.n, p.k, p.ldb, p.count, p.strideB)
                                                : extentOf(p.k, p.n, p.ldb, p.count, p.strideB)));
    const CudaScratch workspace(kWorkspaceBytes); // not the shared one, which work in flight may be using
    if (!a.data() || !b.data() || !workspace.data())
      return found.front().algo;
    absl::Status status = fillWithNumbers(a, p.type);
    status.Update(fillWithNumbers(b, p.type));
    SPLITCAST_RETURN_IF_ERROR(status);
    std::vector<Way> ways;
    for (const cublasLtMatmulHeuristicResult_t &one : found)
      ways.push_back(
          [&](void *c, cudaStream_t stream) { return run(one.algo, a.data(), b.data(), c, workspace.data(), stream); });
    SPLITCAST_ASSIGN_OR_RETURN(size_t fastest,
                               fastestOfSameBits(ways, element * extentOf(p.m, p.n, p.ldc, p.count, p.strideC)));
    return (*known)[key] = found[fastest].algo;
  }

  /// The sizes, the distances between rows and between matrices, whether the
  /// operands are transposed, and the types.
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool,
                         bool, ElementType, cublasComputeType_t>;

  const StridedProduct product;
  const Types types;
  const std::optional<double> leastTimedFlops;
  const Library library;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  std::map<uint32_t, cublasLtMatmulAlgo_t> algorithms; ///< by the alignment of the operands
};

/// cuBLASLt does not always take more matrices at once than a grid has blocks in
/// its third dimension (its documentation does not say).
constexpr int64_t kMostMatrices = 65'535;

/// More matrices than kMostMatrices, in pieces.
class CudaProductInPieces final : public ProductCall {
public:
  static absl::StatusOr<std::unique_ptr<ProductCall>> create(const StridedProduct &product,
                                                             const CudaProductOptions &options) {
    auto call = std::make_unique<CudaProductInPieces>();
    const int64_t element = bytesOf(product.type);
    for (int64_t first = 0; first < product.count; first += kMostMatrices) {
      StridedProduct piece = product;
      piece.count = std::min(kMostMatrices, product.count - first);
      SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<ProductCall> made, createCudaProduct(piece, options));
      call->pieces.push_back({std::move(made), first * product.strideA * element, first * product.strideB * element,
                              first * product.strideC * element});
    }
    return call;
  }

  absl::Status launch(const std::byte *a, const std::byte *b, std::byte *c, Stream &stream) override {
    for (const Piece &piece : pieces)
      SPLITCAST_RETURN_IF_ERROR(piece.call->launch(a + piece.ofA, b + piece.ofB, c + piece.ofC, stream));
    return absl::OkStatus();
  }

private:
  struct Piece {
    std::unique_ptr<ProductCall> call;
    int64_t ofA, ofB, ofC; ///< where its matrices begin, in bytes
  };
  std::vector<Piece> pieces;
};

} // namespace

absl::StatusOr<std::unique_ptr<ProductCall>> createCudaProduct(const StridedProduct &product,
                                                               const CudaProductOptions &options) {
  if (product.count > kMostMatrices)
    return CudaProductInPieces::create(product, options);
  SPLITCAST_ASSIGN_OR_RETURN(Library library, Library::get());
  auto call = std::make_unique<CudaProduct>(product, options, library);
  SPLITCAST_RETURN_IF_ERROR(call->prepare());
  return call;
}

} // namespace splitcast::runtime
