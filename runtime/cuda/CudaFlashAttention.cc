//===- CudaFlashAttention.cc - Attention by cuDNN ------------------------------------------------------===//
//
// "attention" and "attention_grad", as in
// runtime/host/calls/LibraryAttention.cc, for what cuDNN's flash attention
// supports: bf16 and f16, no mask but the causal one, and a width that is a
// multiple of 8. The compiler gives the call the workspace that
// dialects/exec/AttentionWorkspace.h computes. If a GPU needs more, it is
// allocated here.
//
// If the statistics of the rows are not among the operands of the gradient, it
// runs the forward graph again.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CudaFlashAttention.h"

#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudnnAttention.h"
#include "runtime/cuda/CudnnPlan.h"

#include "llvm/ADT/APFloat.h"

#include <limits>
#include <map>

namespace splitcast::runtime {
namespace {

/// The execution plans, which calls of the same sizes share. A gradient that is
/// given the statistics has no forward one.
struct Plans {
  std::unique_ptr<CudnnPlan> forward, backward;
  AttentionForwardUids forwardUids = {};
  AttentionBackwardUids backwardUids = {};

  static absl::StatusOr<std::shared_ptr<Plans>> get(const AttentionSizes &sizes, bool isGradient, bool hasStatistics) {
    static auto *known = new std::map<std::array<int64_t, 9>, std::shared_ptr<Plans>>;
    std::shared_ptr<Plans> &plans = (*known)[{sizes.samples, sizes.positions, sizes.keys, sizes.heads, sizes.width,
                                              sizes.isCausal, sizes.type, isGradient, hasStatistics}];
    if (plans)
      return plans;
    auto made = std::make_shared<Plans>();
    SPLITCAST_RETURN_IF_ERROR(made->create(sizes, isGradient, hasStatistics));
    return plans = made;
  }

  int64_t workspaceBytes() const {
    return std::max(forward ? forward->workspaceBytes() : 0, backward ? backward->workspaceBytes() : 0);
  }

private:
  absl::Status create(const AttentionSizes &sizes, bool isGradient, bool hasStatistics) {
    auto graph = std::make_unique<CudnnGraph>();
    if (!isGradient || !hasStatistics) {
      forwardUids = buildAttention(*graph, sizes, /*keepsStatistics=*/isGradient || hasStatistics);
      SPLITCAST_ASSIGN_OR_RETURN(forward, CudnnPlan::create(std::move(graph)));
    }
    if (!isGradient)
      return absl::OkStatus();
    graph = std::make_unique<CudnnGraph>();
    backwardUids = buildAttentionGradient(*graph, sizes);
    SPLITCAST_ASSIGN_OR_RETURN(backward, CudnnPlan::create(std::move(graph)));
    return absl::OkStatus();
  }
};

class CudaAttention : public Launchable {
public:
  CudaAttention(const std::string &name, std::shared_ptr<Plans> plans, const exec::FlashAttentionLayout &layout,
                double scale, std::vector<int64_t> argumentBytes, std::shared_ptr<CudaScratch> more)
      : what(absl::StrCat("library call '", name, "'")), plans(std::move(plans)), layout(layout),
        scale(static_cast<float>(scale)), argumentBytes(std::move(argumentBytes)), more(std::move(more)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    std::byte *scratch = more ? more->data() : buffers.back().data;
    cudaStream_t on = cudaStreamOf(stream);
    if (!plans->backward)
      return forward(buffers[0], buffers[1], buffers[2], buffers[3].data,
                     plans->forwardUids.statistics ? buffers[4].data : nullptr, scratch + layout.library, on);
    if (!plans->forward)
      return backward(buffers, buffers[4].data, buffers[5].data, buffers.subspan(6), scratch, on);
    std::byte *statistics = scratch + layout.statistics;
    absl::Status status =
        forward(buffers[1], buffers[2], buffers[3], scratch, statistics, scratch + layout.library, on);
    return status.ok() ? backward(buffers, scratch, statistics, buffers.subspan(4), scratch, on) : status;
  }

private:
  absl::Status forward(Buffer query, Buffer key, Buffer value, void *output, void *statistics, void *library,
                       cudaStream_t on) const {
    const AttentionForwardUids &u = plans->forwardUids;
    return plans->forward->run({{u.query, query.data},
                                {u.key, key.data},
                                {u.value, value.data},
                                {u.output, output},
                                {u.statistics, statistics},
                                {u.scale, &scale},
                                {u.lowest, &lowest}},
                               library, on);
  }

  absl::Status backward(absl::Span<const Buffer> buffers, std::byte *output, std::byte *statistics,
                        absl::Span<const Buffer> gradients, std::byte *scratch, cudaStream_t on) const {
    const AttentionBackwardUids &u = plans->backwardUids;
    return plans->backward->run({{u.gradient, buffers[0].data},
                                 {u.query, buffers[1].data},
                                 {u.key, buffers[2].data},
                                 {u.value, buffers[3].data},
                                 {u.output, output},
                                 {u.statistics, statistics},
                                 {u.delta, scratch + layout.delta},
                                 {u.queryGradient, gradients[0].data},
                                 {u.keyGradient, gradients[1].data},
                                 {u.valueGradient, gradients[2].data},
                                 {u.scale, &scale},
                                 {u.lowest, &lowest},
                                 {u.one, &one}},
                                scratch + layout.library, on);
  }

  const std::string what;
  const std::shared_ptr<Plans> plans;
  const exec::FlashAttentionLayout layout;
  const float scale, one = 1, lowest = -std::numeric_limits<float>::infinity();
  const std::vector<int64_t> argumentBytes;
  const std::shared_ptr<CudaScratch> more; ///< used instead of a workspace that is too small; null if it suffices
};

} // namespace

absl::StatusOr<std::unique_ptr<Launchable>> createCudaFlashAttention(exec::AttentionAttr call) {
  const std::string name = call.getCallName().str();
  const bool isGradient = call.getGradient();
  AttentionSizes sizes;
  sizes.samples = call.getSamples();
  sizes.positions = call.getPositions();
  sizes.keys = call.getKeys();
  sizes.heads = call.getHeads();
  sizes.width = call.getWidth();
  sizes.isCausal = call.getCausal();
  const int64_t workspace = call.getWorkspace().value_or(0);
  const ElementType type = *elementTypeOf(call.getType());
  if (type != ElementType::BF16 && type != ElementType::F16)
    return absl::UnimplementedError(
        absl::StrCat("library call '", name, "' supports bf16 and f16, not ", nameOf(type)));
  if (call.getMaskType())
    return absl::UnimplementedError(
        absl::StrCat("library call '", name, "' supports only the causal mask for bf16 and f16 on GPUs; use f32"));
  const std::optional<exec::FlashAttentionLayout> layout = exec::flashAttentionLayout(call.getExtents());
  if (!layout || workspace < layout->total)
    return absl::InvalidArgumentError(absl::StrCat("library call '", name, "' has a workspace of ", workspace,
                                                   " bytes; it needs ",
                                                   layout ? absl::StrCat(layout->total) : "more than can be counted"));
  sizes.type = type == ElementType::BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  absl::StatusOr<std::shared_ptr<Plans>> plans = Plans::get(sizes, isGradient, call.getStatistics());
  if (!plans.ok())
    return absl::Status(plans.status().code(), absl::StrCat("library call '", name, "': ", plans.status().message()));
  const int64_t used = layout->library + (*plans)->workspaceBytes();
  std::shared_ptr<CudaScratch> scratch;
  if (used > workspace) {
    SPLITCAST_ASSIGN_OR_RETURN(scratch, sharedCudnnScratch(used));
  }
  std::vector<int64_t> bytes = call.getOperandBytes();
  if (workspace > 0)
    bytes.push_back(workspace);
  return std::make_unique<CudaAttention>(name, *plans, *layout, call.getScale().getValueAsDouble(), std::move(bytes),
                                         std::move(scratch));
}

} // namespace splitcast::runtime
