//===- CudaDeviceCalls.cc - Library calls made of products and kernels ----------------------------------------===//
//
// The calls of DeviceCalls.h, with products by cuBLASLt. cuDNN does attention
// that exec::isFlashAttention (CudaFlashAttention.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/api/CallAs.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaFlashAttention.h"
#include "runtime/cuda/CudaKernels.h"
#include "runtime/cuda/CudaLibraryCall.h"
#include "runtime/cuda/CudaProduct.h"

#include "mlir/Parser/Parser.h"

#include <map>

namespace splitcast::runtime {
namespace {

/// Calls of the same size share their kernels.
class CudaCallServices : public CallServices {
public:
  explicit CudaCallServices(const CudaLibraryCallOptions &options) : options(options) {}

  absl::StatusOr<std::unique_ptr<ProductCall>> product(const StridedProduct &product) override {
    return createCudaProduct(product, options.products);
  }

  bool allowsTf32() const override { return options.products.allowsTf32; }

  absl::StatusOr<std::shared_ptr<KernelLibrary>> kernels(const std::string &module) override {
    static auto *known = new std::map<std::string, std::shared_ptr<KernelLibrary>>;
    std::shared_ptr<KernelLibrary> &library = (*known)[module];
    if (library)
      return library;
    mlir::DialectRegistry registry;
    registerGpuKernelDialects(registry);
    mlir::MLIRContext context(registry);
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(module, &context);
    if (!parsed)
      return absl::InternalError("a call's kernels do not parse");
    SPLITCAST_ASSIGN_OR_RETURN(library, loadCudaKernels(*parsed, options.chip));
    return library;
  }

private:
  const CudaLibraryCallOptions &options;
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface call,
                                                   const CudaLibraryCallOptions &options) {
  auto attention = callAs<exec::AttentionAttr>(call);
  if (attention && exec::isFlashAttention(attention.getExtents()))
    return createCudaFlashAttention(attention);
  CudaCallServices services(options);
  return createDeviceCall(call, services);
}

const CudaLibraryCallRegistration attention("attention", create), attentionGrad("attention_grad", create),
    embeddingGrad("embedding_grad", create);

} // namespace
} // namespace splitcast::runtime
