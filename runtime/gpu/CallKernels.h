//===- CallKernels.h - Collects the kernels of library calls without a GPU -------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_CALLKERNELS_H
#define SPLITCAST_RUNTIME_GPU_CALLKERNELS_H

#include "runtime/gpu/DeviceCalls.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// Adds the kernels that calls ask for to a module, as callN_NAME, and lists the products that they ask for. The
/// resulting calls can only be destroyed.
class CallKernelCollector final : public CallServices {
public:
  /// The module is borrowed. Its context must have the dialects of registerGpuKernelDialects.
  explicit CallKernelCollector(mlir::ModuleOp module, bool usesTf32 = false) : module(module), usesTf32(usesTf32) {}

  absl::StatusOr<std::unique_ptr<ProductCall>> product(const StridedProduct &product) override;
  bool allowsTf32() const override { return usesTf32; }
  absl::StatusOr<std::shared_ptr<KernelLibrary>> kernels(const std::string &text) override;

  const std::vector<StridedProduct> &products() const { return asked; }

private:
  mlir::ModuleOp module;
  const bool usesTf32;
  std::map<std::string, size_t> numbers; ///< the N of callN_NAME, by the text of the kernels
  std::vector<StridedProduct> asked;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_CALLKERNELS_H
