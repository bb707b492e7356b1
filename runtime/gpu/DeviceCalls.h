//===- DeviceCalls.h - Library calls made of products and kernels ------------------------------------------===//
//
// What a GPU's libraries lack, by the names and with the configurations and operands of
// runtime/host/calls/LibraryCall.h, on devices that launch threads. What multiplies, and what compiles kernels, is
// given; nothing here needs CUDA.
//
// attention, attention_grad  of f32 and f64: sample by sample, all heads at once, products with the scores of a sample
//                            between them in the workspace, [heads, positions, keys], and for the gradient their
//                            gradient beside them.
// embedding_grad             of all floats: one kernel (EmbeddingGradKernel.h), which adds in the order of the indices.
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

/// C = op(A) op(B), `count` times, row-major: op(A) is [m, k], op(B) [k, n]. Elements from one row to the next as
/// stored, and from one product's operand to the next one's.
struct StridedProduct {
  ElementType type = ElementType::F32;
  bool transposeA = false, transposeB = false;
  int64_t m = 0, n = 0, k = 0; ///< at least 1
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t count = 1, strideA = 0, strideB = 0, strideC = 0;
};

class ProductCall {
public:
  virtual ~ProductCall() = default;
  virtual absl::Status launch(const std::byte *a, const std::byte *b, std::byte *c, Stream &stream) = 0;
};

/// What a device gives.
class CallServices {
public:
  virtual ~CallServices() = default;
  virtual absl::StatusOr<std::unique_ptr<ProductCall>> product(const StridedProduct &product) = 0;
  /// As Device::loadKernels, of a module as MLIR.
  virtual absl::StatusOr<std::shared_ptr<KernelLibrary>> kernels(const std::string &module) = 0;
};

/// The call has a workspace: the last buffer, unless it is of 0 bytes.
///   Errors  NotFound: another call, or attention of small floats; libraries have those. InvalidArgument: a workspace
///   that is
///           too small.
absl::StatusOr<std::unique_ptr<Launchable>> createDeviceCall(exec::LibraryCallAttrInterface call,
                                                             CallServices &services);

// The calls that createDeviceCall knows.
absl::StatusOr<std::unique_ptr<Launchable>> createDeviceAttention(exec::AttentionAttr call, CallServices &services);
absl::StatusOr<std::unique_ptr<Launchable>> createDeviceEmbeddingGrad(exec::EmbeddingGradAttr call,
                                                                      CallServices &services);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_DEVICECALLS_H
