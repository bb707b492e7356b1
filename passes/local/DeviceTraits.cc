#include "passes/local/DeviceTraits.h"

using namespace mlir;

namespace splitcast {

namespace {

using nn::LibraryCall;

//===----------------------------------------------------------------------===//
// "cpu"
//===----------------------------------------------------------------------===//

/// The CPU has all calls (runtime/host/calls).
std::optional<LibraryCall> onCpu(LibraryCall call) { return call; }

//===----------------------------------------------------------------------===//
// "cuda"
//===----------------------------------------------------------------------===//

template <typename Attr> LibraryCall withWorkspace(Attr call, int64_t bytes) {
  return {call.withWorkspace(bytes), bytes};
}

/// Whether an operand is empty, because one of the sizes is 0.
bool isEmpty(const LibraryCall &call) { return llvm::is_contained(call.call.getOperandBytes(), 0); }

std::optional<LibraryCall> attentionOnCuda(exec::AttentionAttr attention) {
  const exec::AttentionExtents extents = attention.getExtents();
  std::optional<int64_t> workspace;
  if (exec::isFlashAttention(extents)) {
    if (std::optional<exec::FlashAttentionLayout> layout = exec::flashAttentionLayout(extents))
      workspace = layout->total;
  } else {
    workspace = exec::deviceAttentionWorkspace(extents);
  }
  return workspace ? std::optional(withWorkspace(attention, *workspace)) : std::nullopt;
}

/// Returns the call if CUDA's libraries or runtime/gpu/DeviceCalls.h have it.
std::optional<LibraryCall> onCuda(LibraryCall call) {
  if (isa<exec::MatmulAttr>(call.call))
    return call;
  if (isEmpty(call))
    return std::nullopt;
  if (auto gradient = dyn_cast<exec::EmbeddingGradAttr>(call.call)) {
    const std::optional<int64_t> workspace =
        exec::deviceEmbeddingGradWorkspace(gradient.getRows(), gradient.getVocabulary());
    return workspace ? std::optional(withWorkspace(gradient, *workspace)) : std::nullopt;
  }
  if (auto convolution = dyn_cast<exec::ConvolutionAttr>(call.call)) {
    const std::optional<int64_t> workspace =
        exec::deviceConvolutionWorkspace({convolution.getInput().asArrayRef(), convolution.getWeight().asArrayRef(),
                                          convolution.getOutput().asArrayRef()},
                                         sbp::elementBytes(convolution.getType()));
    return workspace ? std::optional(withWorkspace(convolution, *workspace)) : std::nullopt;
  }
  auto attention = dyn_cast<exec::AttentionAttr>(call.call);
  return attention ? attentionOnCuda(attention) : std::nullopt;
}

} // namespace

int64_t DeviceTraits::workspaceBytesOf(ccl::CollectiveOpInterface op) const {
  ccl::CollectiveCall call = callOf(op);
  call.chunkBytes = chunkBytes(call.ranks);
  return call.workspaceBytes();
}

std::optional<LibraryCall> DeviceTraits::libraryCallOf(Operation *op) const {
  auto compute = dyn_cast<nn::ComputeOpInterface>(op);
  std::optional<LibraryCall> call = compute ? compute.getLibraryCall() : std::nullopt;
  return call ? libraryCall(*std::move(call)) : std::nullopt;
}

DeviceTraits deviceTraitsOf(ModuleOp module) {
  auto kind = module ? module->getAttrOfType<StringAttr>("ccl.device") : StringAttr();
  DeviceTraits traits;
  traits.libraryCall = onCpu;
  if (kind && kind.getValue() == "cuda") {
    traits.launchesThreads = true;
    traits.hasOwnMemory = true;
    traits.sumsBesideRows = false;
    traits.rowBytes = 16;
    traits.sumStream = "reduce_scatter";
    traits.moveStream = "all_gather";
    traits.chunkBytes = [](int64_t ranks) { return ccl::deviceChunkBytes(ranks); };
    traits.libraryCall = onCuda;
    traits.takesStatistics = [](const exec::AttentionExtents &gradient) {
      return exec::isFlashAttention(gradient) || exec::isTileAttention(gradient);
    };
  }
  return traits;
}

} // namespace splitcast
