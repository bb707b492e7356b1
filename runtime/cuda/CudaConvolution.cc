//===- CudaConvolution.cc - Convolutions by cuDNN ------------------------------------------------------===//
//
// #exec.convolution, as in runtime/host/calls/LibraryConvolution.cc. The
// compiler gives the call the workspace of exec::deviceConvolutionWorkspace. Of
// the ways that cuDNN proposes, one is used that needs no more; if a GPU has
// none, memory is allocated here.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/CallAs.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaLibraryCall.h"
#include "runtime/cuda/CudnnConvolution.h"
#include "runtime/cuda/CudnnPlan.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

#include <map>

namespace splitcast::runtime {
namespace {

using exec::ConvolutionAttr;

CudnnConvolutionSizes sizesOf(ConvolutionAttr call, ElementType type) {
  CudnnConvolutionSizes sizes;
  sizes.makes = call.getCall() == ConvolutionAttr::kOutput  ? CudnnGraph::ConvolutionMakes::Output
                : call.getCall() == ConvolutionAttr::kInput ? CudnnGraph::ConvolutionMakes::Input
                                                            : CudnnGraph::ConvolutionMakes::Weight;
  absl::c_copy(call.getInput().asArrayRef(), sizes.input.begin());
  absl::c_copy(call.getWeight().asArrayRef(), sizes.weight.begin());
  absl::c_copy(call.getOutput().asArrayRef(), sizes.output.begin());
  absl::c_copy(call.getStrides().asArrayRef(), sizes.windows.strides.begin());
  absl::c_copy(call.getPadding().asArrayRef(), sizes.windows.padding.begin());
  absl::c_copy(call.getDilation().asArrayRef(), sizes.windows.dilation.begin());
  sizes.type = type == ElementType::BF16  ? CUDNN_DATA_BFLOAT16
               : type == ElementType::F16 ? CUDNN_DATA_HALF
                                          : CUDNN_DATA_FLOAT;
  return sizes;
}

/// An execution plan, which the calls of one kind and size share.
struct Plan {
  std::unique_ptr<CudnnPlan> plan;
  std::array<int64_t, 3> uids; ///< of the operands, in their order

  static absl::StatusOr<std::shared_ptr<Plan>> get(ConvolutionAttr call, ElementType type, bool allowsTensorCores,
                                                   int64_t workspace) {
    static auto *known = new std::map<std::vector<int64_t>, std::shared_ptr<Plan>>;
    const CudnnConvolutionSizes sizes = sizesOf(call, type);
    std::vector<int64_t> key = {static_cast<int64_t>(sizes.makes), sizes.type, allowsTensorCores, workspace};
    for (const CudnnGraph::Extents *of : {&sizes.input, &sizes.weight, &sizes.output})
      key.insert(key.end(), of->begin(), of->end());
    for (const auto *of : {&sizes.windows.strides, &sizes.windows.padding, &sizes.windows.dilation})
      key.insert(key.end(), of->begin(), of->end());
    std::shared_ptr<Plan> &found = (*known)[key];
    if (found)
      return found;
    auto made = std::make_shared<Plan>();
    auto graph = std::make_unique<CudnnGraph>();
    made->uids = buildConvolution(*graph, sizes);
    SPLITCAST_ASSIGN_OR_RETURN(made->plan, CudnnPlan::create(std::move(graph), allowsTensorCores, workspace));
    return found = made;
  }
};

class CudaConvolution final : public Launchable {
public:
  CudaConvolution(ConvolutionAttr call, std::shared_ptr<Plan> plan, std::vector<int64_t> argumentBytes,
                  std::shared_ptr<CudaScratch> more)
      : what(absl::StrCat("library call '", std::string(call.getCallName()), "'")), plan(std::move(plan)),
        argumentBytes(std::move(argumentBytes)), more(std::move(more)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    CudnnPlan::Pointers pointers;
    for (size_t i = 0; i < plan->uids.size(); ++i)
      pointers.emplace_back(plan->uids[i], buffers[i].data);
    return plan->plan->run(pointers, scratch(buffers), cudaStreamOf(stream));
  }

private:
  std::byte *scratch(absl::Span<const Buffer> buffers) const {
    return more ? more->data() : buffers.size() > plan->uids.size() ? buffers.back().data : nullptr;
  }

  const std::string what;
  const std::shared_ptr<Plan> plan;
  const std::vector<int64_t> argumentBytes;
  const std::shared_ptr<CudaScratch> more; ///< used instead of a workspace that is too small; null if it suffices
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface any,
                                                   const CudaLibraryCallOptions &options) {
  auto call = callAs<ConvolutionAttr>(any);
  const int64_t workspace = call.getWorkspace().value_or(0);
  const ElementType type = *elementTypeOf(call.getType());
  absl::StatusOr<std::shared_ptr<Plan>> plan =
      Plan::get(call, type, /*allowsTensorCores=*/type != ElementType::F32 || options.products.allowsTf32, workspace);
  if (!plan.ok())
    return absl::Status(plan.status().code(),
                        absl::StrCat("library call '", std::string(call.getCallName()), "': ", plan.status().message(),
                                     absl::IsUnimplemented(plan.status()) ? "; use f32 or f16" : ""));
  std::shared_ptr<CudaScratch> more;
  if (const int64_t used = (*plan)->plan->workspaceBytes(); used > workspace) {
    SPLITCAST_ASSIGN_OR_RETURN(more, sharedCudnnScratch(used));
  }
  std::vector<int64_t> bytes = call.getOperandBytes();
  if (workspace > 0)
    bytes.push_back(workspace);
  return std::make_unique<CudaConvolution>(call, *plan, std::move(bytes), std::move(more));
}

const CudaLibraryCallRegistration output("convolution", create), input("convolution_data_grad", create),
    weight("convolution_weight_grad", create);

} // namespace
} // namespace splitcast::runtime
