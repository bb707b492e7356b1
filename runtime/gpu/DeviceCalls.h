//===- DeviceCalls.h - Library calls made of products and kernels ------------------------------------------===//
//
// These are the library calls that a GPU's libraries lack, with the names, attributes and operands of
// runtime/host/calls/LibraryCall.h, for devices that launch threads. The caller provides matrix products and the
// compilation of kernels; nothing here needs CUDA.
//
// attention, attention_grad  Where exec::isTileAttention, and in bf16 and f16 not exec::isFlashAttention, scores are
//                            never in memory (TileAttentionKernels.h). Else sample by sample, on all heads at once:
//                            between the products, the workspace holds a sample's scores [heads, positions, keys], and
//                            for the gradient also the gradient of the scores. A sample of bf16 or f16 is copied to f32
//                            there, and its results are rounded once.
// embedding_grad             It takes all floats, and is one kernel (EmbeddingGradKernel.h), which adds in the order of
//                            the indices.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_DEVICECALLS_H
#define SPLITCAST_RUNTIME_GPU_DEVICECALLS_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Device.h"
#include "runtime/api/ElementType.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

/// `count` products C = op(A) op(B), row-major. op(A) is [m, k] and op(B) is [k, n]. `lda`, `ldb` and `ldc` count the
/// elements from one stored row to the next, and the strides those from an operand of one product to that of the next.
struct StridedProduct {
  ElementType type = ElementType::F32;
  bool transposeA = false, transposeB = false;
  int64_t m = 0, n = 0, k = 0; ///< at least 1
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t count = 1, strideA = 0, strideB = 0, strideC = 0;
  bool roundsToTf32 = false; ///< operands of f32 may be rounded to tf32 in any case: results will be 16-bit floats
};

class ProductCall {
public:
  virtual ~ProductCall() = default;
  virtual absl::Status launch(const std::byte *a, const std::byte *b, std::byte *c, Stream &stream) = 0;
};

/// The services that a device provides for the calls.
class CallServices {
public:
  virtual ~CallServices() = default;
  virtual absl::StatusOr<std::unique_ptr<ProductCall>> product(const StridedProduct &product) = 0;
  /// Whether products of f32 may round their operands to tf32.
  virtual bool allowsTf32() const { return false; }
  /// Like Device::loadKernels, for a module as MLIR text.
  virtual absl::StatusOr<std::shared_ptr<KernelLibrary>> kernels(const std::string &module) = 0;
};

/// Prepares a call. Its workspace is the last buffer, unless it has 0 bytes. `services` is used only until this
/// returns.
///   Errors  NotFound: it is another call, or attention of bf16 or f16 that a library has. InvalidArgument: the
///           workspace is too small (or, where the call is one kernel, not exactly as large as needed).
absl::StatusOr<std::unique_ptr<Launchable>> createDeviceCall(exec::LibraryCallAttrInterface call,
                                                             CallServices &services);

// These prepare the calls that createDeviceCall knows.
absl::StatusOr<std::unique_ptr<Launchable>> createDeviceAttention(exec::AttentionAttr call, CallServices &services);
absl::StatusOr<std::unique_ptr<Launchable>> createDeviceEmbeddingGrad(exec::EmbeddingGradAttr call,
                                                                      CallServices &services);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_DEVICECALLS_H
