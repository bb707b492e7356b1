#include "runtime/nccl/NcclTreeSum.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/gpu/DeviceTreeSum.h"
#include "runtime/gpu/PtxCompiler.h"

#include "absl/algorithm/container.h"

namespace splitcast::runtime {

namespace {

bool isAligned(Buffer buffer) { return reinterpret_cast<uintptr_t>(buffer.data) % kTreeSumBytes == 0; }

/// Launches one of the kernels, whose threads add `lanes` elements each, over
/// `elements` of these buffers, the last of which gets the sum.
absl::Status launchOver(cudaKernel_t kernel, const std::vector<Buffer> &buffers, int64_t elements, int64_t lanes,
                        cudaStream_t stream, const std::string &what) {
  if (elements == 0)
    return absl::OkStatus();
  std::vector<std::byte *> addresses;
  for (const Buffer &buffer : buffers)
    addresses.push_back(buffer.data);
  std::vector<void *> arguments;
  for (std::byte *&address : addresses)
    arguments.push_back(static_cast<void *>(&address));
  arguments.push_back(&elements);
  const int64_t perBlock = kTreeSumThreads * lanes;
  const auto blocks = static_cast<unsigned>((elements + perBlock - 1) / perBlock);
  return cudaStatus(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(blocks), dim3(kTreeSumThreads),
                                     arguments.data(), 0, stream),
                    what);
}

} // namespace

absl::StatusOr<NcclTreeSum::Loaded> NcclTreeSum::kernelsOf(int64_t count, ElementType type, const std::string &what) {
  Loaded &known = loaded[{count, type}];
  if (known.wide)
    return known;
  mlir::MLIRContext context;
  SPLITCAST_ASSIGN_OR_RETURN(GpuProgram program, deviceTreeSum(count, type, context));
  PtxTarget target;
  target.chip = "sm_70"; // the kernels only load and add, so the driver can assemble this PTX for any later chip
  target.features = "+ptx60";
  SPLITCAST_ASSIGN_OR_RETURN(std::string ptx, compileToPtx(program, target));
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<CudaCode> made, CudaCode::load(ptx, what));
  SPLITCAST_ASSIGN_OR_RETURN(cudaKernel_t narrow, made->kernel("tree_sum", what));
  SPLITCAST_ASSIGN_OR_RETURN(cudaKernel_t wide, made->kernel("tree_sum_wide", what));
  known = {std::move(made), narrow, wide};
  return known;
}

absl::Status NcclTreeSum::launch(const std::vector<Buffer> &addends, Buffer sum, ElementType type, cudaStream_t stream,
                                 const std::string &what) {
  const int64_t element = bytesOf(type), elements = sum.bytes / element, lanes = kTreeSumBytes / element;
  if (elements == 0)
    return absl::OkStatus();
  SPLITCAST_ASSIGN_OR_RETURN(Loaded kernels, kernelsOf(static_cast<int64_t>(addends.size()), type, what));
  std::vector<Buffer> buffers = addends;
  buffers.push_back(sum);
  const int64_t wide = absl::c_all_of(buffers, isAligned) ? elements / lanes * lanes : 0;
  SPLITCAST_RETURN_IF_ERROR(launchOver(kernels.wide, buffers, wide, lanes, stream, what));
  for (Buffer &buffer : buffers)
    buffer = buffer.slice(wide * element, (elements - wide) * element);
  return launchOver(kernels.narrow, buffers, elements - wide, 1, stream, what);
}

} // namespace splitcast::runtime
