//===- CudaMatmul.cc - The library call of matrix products -------------------------------------------------===//
//
// "matmul", as in runtime/host/calls/LibraryMatmul.cc. bf16 and f16 are added
// in f32.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/CallAs.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaLibraryCall.h"
#include "runtime/cuda/CudaProduct.h"
#include "runtime/cuda/CudaStatus.h"

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "matmul";

std::string whatFails() { return std::string("library call '") + kName + "'"; }

class CudaMatmul : public Launchable {
public:
  CudaMatmul(std::unique_ptr<ProductCall> product, std::vector<int64_t> argumentBytes)
      : product(std::move(product)), argumentBytes(std::move(argumentBytes)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    return product->launch(buffers[0].data, buffers[1].data, buffers[2].data, stream);
  }

private:
  const std::string what = whatFails();
  const std::unique_ptr<ProductCall> product;
  const std::vector<int64_t> argumentBytes;
};

/// A product without addends or without results: the output, if any, is zero.
class EmptyProduct : public Launchable {
public:
  explicit EmptyProduct(std::vector<int64_t> argumentBytes) : argumentBytes(std::move(argumentBytes)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    return cudaStatus(cudaMemsetAsync(buffers[2].data, 0, argumentBytes[2], cudaStreamOf(stream)), kName);
  }

private:
  const std::string what = whatFails();
  const std::vector<int64_t> argumentBytes;
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface any,
                                                   const CudaLibraryCallOptions &options) {
  auto call = callAs<exec::MatmulAttr>(any);
  StridedProduct p;
  p.count = call.getProducts();
  p.m = call.getM();
  p.n = call.getN();
  p.k = call.getK();
  p.transposeA = call.getTransposeA();
  p.transposeB = call.getTransposeB();
  p.type = *elementTypeOf(call.getType());
  std::vector<int64_t> argumentBytes = call.getOperandBytes();
  if (argumentBytes[0] == 0 || argumentBytes[1] == 0)
    return std::make_unique<EmptyProduct>(std::move(argumentBytes));
  p.lda = p.transposeA ? p.m : p.k;
  p.ldb = p.transposeB ? p.k : p.n;
  p.ldc = p.n;
  p.strideA = p.m * p.k;
  p.strideB = p.k * p.n;
  p.strideC = p.m * p.n;
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<ProductCall> product, createCudaProduct(p, options.products));
  return std::make_unique<CudaMatmul>(std::move(product), std::move(argumentBytes));
}

const CudaLibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
