#include "runtime/cuda/CudaKernels.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaStatus.h"

#include <cstdlib>

namespace splitcast::runtime {
namespace {

/// A launch of one function; `arguments` are the indices of its buffers.
struct BoundLaunch {
  cudaKernel_t function;
  dim3 blocks, threads;
  std::vector<int64_t> arguments;
};

class CudaKernel : public Launchable {
public:
  CudaKernel(const GpuKernel &kernel, std::vector<BoundLaunch> launches, std::shared_ptr<CudaCode> code)
      : what(absl::StrCat("kernel @", kernel.name)), argumentBytes(kernel.argumentBytes), alignments(kernel.alignments),
        launches(std::move(launches)), code(std::move(code)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(check(buffers));
    for (const BoundLaunch &bound : launches) {
      const void *addresses[kMostArguments];
      void *arguments[kMostArguments];
      for (size_t i = 0; i < bound.arguments.size(); ++i) {
        addresses[i] = buffers[bound.arguments[i]].data;
        arguments[i] = static_cast<void *>(&addresses[i]);
      }
      cudaError_t error = cudaLaunchKernel(reinterpret_cast<const void *>(bound.function), bound.blocks, bound.threads,
                                           arguments, 0, cudaStreamOf(stream));
      if (error != cudaSuccess)
        return cudaStatus(error, what);
    }
    return absl::OkStatus();
  }

  /// CUDA allows 4 KiB of arguments, 8 bytes each.
  static constexpr size_t kMostArguments = 512;

private:
  absl::Status check(absl::Span<const Buffer> buffers) const {
    if (buffers.size() != argumentBytes.size())
      return absl::InvalidArgumentError(
          absl::StrCat(what, " was launched with ", buffers.size(), " buffers; it takes ", argumentBytes.size()));
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].bytes != argumentBytes[i] || reinterpret_cast<uintptr_t>(buffers[i].data) % alignments[i] != 0)
        return absl::InvalidArgumentError(absl::StrCat(what, ": buffer ", i, " has ", buffers[i].bytes, " of ",
                                                       argumentBytes[i], " bytes, or is not aligned to ",
                                                       alignments[i]));
    return absl::OkStatus();
  }

  const std::string what;
  const std::vector<int64_t> argumentBytes, alignments;
  const std::vector<BoundLaunch> launches;
  const std::shared_ptr<CudaCode> code;
};

class CudaLibrary : public KernelLibrary {
public:
  CudaLibrary(std::vector<GpuKernel> kernels, std::shared_ptr<CudaCode> code)
      : kernels(std::move(kernels)), code(std::move(code)) {}

  absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &name) override {
    for (const GpuKernel &kernel : kernels)
      if (kernel.name == name)
        return bind(kernel);
    return absl::NotFoundError(absl::StrCat("the plan has no kernel @", name));
  }

private:
  absl::StatusOr<std::unique_ptr<Launchable>> bind(const GpuKernel &kernel) {
    std::vector<BoundLaunch> launches;
    for (const GpuLaunch &launch : kernel.launches) {
      if (launch.arguments.size() > CudaKernel::kMostArguments)
        return absl::UnimplementedError(absl::StrCat("kernel @", kernel.name, " takes ", launch.arguments.size(),
                                                     " arguments; CUDA allows at most ", CudaKernel::kMostArguments));
      SPLITCAST_ASSIGN_OR_RETURN(cudaKernel_t function,
                                 code->kernel(launch.function, absl::StrCat("kernel @", kernel.name)));
      launches.push_back({function, sizeOf(launch.blocks), sizeOf(launch.threads), launch.arguments});
    }
    return std::make_unique<CudaKernel>(kernel, std::move(launches), code);
  }

  static dim3 sizeOf(const std::array<int64_t, 3> &size) {
    return {static_cast<unsigned>(size[0]), static_cast<unsigned>(size[1]), static_cast<unsigned>(size[2])};
  }

  const std::vector<GpuKernel> kernels;
  const std::shared_ptr<CudaCode> code;
};

} // namespace

absl::StatusOr<std::unique_ptr<KernelLibrary>> loadCudaKernels(mlir::ModuleOp kernels, const std::string &chip) {
  SPLITCAST_ASSIGN_OR_RETURN(GpuProgram program, cutIntoLaunches(kernels));
  absl::StatusOr<std::string> libdevice = findLibdevice();
  // Without a CUDA toolkit, only kernels that need its libdevice fail. But if
  // the environment names a toolkit, it must exist.
  if (!libdevice.ok() && (std::getenv("CUDA_HOME") || std::getenv("CUDA_PATH")))
    return libdevice.status();
  PtxTarget target;
  target.chip = chip;
  target.libdevice = libdevice.value_or("");
  SPLITCAST_ASSIGN_OR_RETURN(std::string ptx, compileToPtx(program, target));
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<CudaCode> code, CudaCode::load(ptx, "the plan's kernels"));
  return std::make_unique<CudaLibrary>(std::move(program.kernels), std::move(code));
}

} // namespace splitcast::runtime
