#include "passes/local/DeviceTraits.h"

#include "dialects/sbp/algebra/Sizes.h"

using namespace mlir;

namespace splitcast {

namespace {

using nn::LibraryCall;

bool isOfSmallFloats(const LibraryCall &call) { return call.call.getType().getIntOrFloatBitWidth() == 16; }

//===----------------------------------------------------------------------===//
// "cpu"
//===----------------------------------------------------------------------===//

std::optional<LibraryCall> onCpu(LibraryCall call) {
  if (isOfSmallFloats(call))
    return std::nullopt;
  return call;
}

//===----------------------------------------------------------------------===//
// "cuda"
//===----------------------------------------------------------------------===//

/// What cuDNN's flash attention takes on all GPUs that have it.
bool isFlashAttention(exec::AttentionAttr call) {
  constexpr int64_t kWidths = 8, kWidest = 128;
  return call.getType().getIntOrFloatBitWidth() == 16 && !call.getMaskType() && call.getWidth() % kWidths == 0 &&
         call.getWidth() <= kWidest && call.getPositions() * call.getKeys() > 1;
}

/// cuDNN's own, and for the gradient what the forward graph leaves for the backward one: the output, and two floats per
/// row. cuDNN's is a small float per score (positions rounded up to 64, keys to 128): measured, not documented.
int64_t flashWorkspace(exec::AttentionAttr call) {
  constexpr int64_t kSmallFloat = 2, kFloat = 4, kBase = int64_t{1} << 16;
  if (!call.getGradient())
    return kBase;
  const int64_t heads = call.getSamples() * call.getHeads(), rows = heads * call.getPositions();
  const int64_t scores = heads * llvm::alignTo(call.getPositions(), 64) * llvm::alignTo(call.getKeys(), 128);
  return kBase + sbp::alignUp(rows * call.getWidth() * kSmallFloat, sbp::kAlignmentBytes) +
         2 * sbp::alignUp(rows * kFloat, sbp::kAlignmentBytes) + scores * kSmallFloat;
}

/// The scores of a sample, and for the gradient theirs.
int64_t scoresWorkspace(exec::AttentionAttr call) {
  const int64_t scores = sbp::alignUp(
      call.getHeads() * call.getPositions() * call.getKeys() * sbp::elementBytes(call.getType()), sbp::kAlignmentBytes);
  return call.getGradient() ? 2 * scores : scores;
}

template <typename Attr> LibraryCall withWorkspace(Attr call, int64_t bytes) {
  return {call.withWorkspace(bytes), bytes};
}

/// Whether an operand, and with it one of the sizes, is empty.
bool isEmpty(const LibraryCall &call) { return llvm::is_contained(call.call.getOperandBytes(), 0); }

/// Calls that CUDA's libraries or runtime/gpu/DeviceCalls.h have.
std::optional<LibraryCall> onCuda(LibraryCall call) {
  if (isa<exec::MatmulAttr>(call.call))
    return call;
  if (isEmpty(call))
    return std::nullopt;
  if (auto gradient = dyn_cast<exec::EmbeddingGradAttr>(call.call); gradient && !isOfSmallFloats(call))
    return withWorkspace(gradient, 0);
  auto attention = dyn_cast<exec::AttentionAttr>(call.call);
  if (!attention)
    return std::nullopt;
  if (isFlashAttention(attention))
    return withWorkspace(attention, flashWorkspace(attention));
  if (isOfSmallFloats(call))
    return std::nullopt;
  return withWorkspace(attention, scoresWorkspace(attention));
}

} // namespace

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
    traits.sumStream = "reduce_scatter";
    traits.moveStream = "all_gather";
    traits.libraryCall = onCuda;
  }
  return traits;
}

} // namespace splitcast
