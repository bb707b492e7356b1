#include "runtime/nccl/NcclTreeSum.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/gpu/DeviceTreeSum.h"
#include "runtime/gpu/PtxCompiler.h"

namespace splitcast::runtime {

absl::StatusOr<cudaKernel_t> NcclTreeSum::kernelOf(int64_t count, ElementType type, const std::string &what) {
  Loaded &code = loaded[{count, type}];
  if (code.kernel)
    return code.kernel;
  mlir::MLIRContext context;
  SPLITCAST_ASSIGN_OR_RETURN(GpuProgram program, deviceTreeSum(count, type, context));
  PtxTarget target;
  target.chip = "sm_70"; // the kernel only loads and adds, so the driver can assemble this PTX for any later chip
  target.features = "+ptx60";
  SPLITCAST_ASSIGN_OR_RETURN(std::string ptx, compileToPtx(program, target));
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<CudaCode> made, CudaCode::load(ptx, what));
  SPLITCAST_ASSIGN_OR_RETURN(cudaKernel_t kernel, made->kernel("tree_sum", what));
  code = {std::move(made), kernel};
  return code.kernel;
}

absl::Status NcclTreeSum::launch(const std::vector<Buffer> &addends, Buffer sum, ElementType type, cudaStream_t stream,
                                 const std::string &what) {
  int64_t elements = sum.bytes / bytesOf(type);
  if (elements == 0)
    return absl::OkStatus();
  SPLITCAST_ASSIGN_OR_RETURN(cudaKernel_t kernel, kernelOf(static_cast<int64_t>(addends.size()), type, what));
  std::vector<std::byte *> addresses;
  for (const Buffer &addend : addends)
    addresses.push_back(addend.data);
  addresses.push_back(sum.data);
  std::vector<void *> arguments;
  for (std::byte *&address : addresses)
    arguments.push_back(static_cast<void *>(&address));
  arguments.push_back(&elements);
  const auto blocks = static_cast<unsigned>((elements + kTreeSumThreads - 1) / kTreeSumThreads);
  return cudaStatus(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(blocks), dim3(kTreeSumThreads),
                                     arguments.data(), 0, stream),
                    what);
}

} // namespace splitcast::runtime
