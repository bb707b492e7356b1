#include "passes/local/DeviceTraits.h"

using namespace mlir;

namespace splitcast {

namespace {

using nn::LibraryCall;

bool isOfSmallFloats(const LibraryCall &call) {
  auto type = call.config.getAs<TypeAttr>("type");
  return type && (type.getValue().isBF16() || type.getValue().isF16());
}

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

struct AttentionSizes {
  int64_t samples, positions, keys, heads, width;

  explicit AttentionSizes(DictionaryAttr config) {
    for (auto [name, value] : {std::pair("samples", &samples), std::pair("positions", &positions),
                               std::pair("keys", &keys), std::pair("heads", &heads), std::pair("width", &width)})
      *value = config.getAs<IntegerAttr>(name).getInt();
  }
};

/// What cuDNN's flash attention takes on all GPUs that have it.
bool isFlashAttention(const LibraryCall &call) {
  constexpr int64_t kWidths = 8, kWidest = 128;
  const AttentionSizes sizes(call.config);
  return isOfSmallFloats(call) && !call.config.contains("mask_type") && sizes.samples * sizes.heads > 0 &&
         sizes.width > 0 && sizes.width % kWidths == 0 && sizes.width <= kWidest && sizes.positions > 0 &&
         sizes.keys > 0 && sizes.positions * sizes.keys > 1;
}

/// cuDNN's own, and for the gradient what the forward graph leaves for the backward one: the output, and two floats per
/// row. cuDNN's is a small float per score (positions rounded up to 64, keys to 128): measured, not documented.
int64_t attentionWorkspace(const AttentionSizes &sizes, bool isGradient) {
  constexpr int64_t kSmallFloat = 2, kFloat = 4, kBase = int64_t{1} << 16;
  if (!isGradient)
    return kBase;
  const int64_t heads = sizes.samples * sizes.heads, rows = heads * sizes.positions;
  const int64_t scores = heads * llvm::alignTo(sizes.positions, 64) * llvm::alignTo(sizes.keys, 128);
  return kBase + sbp::alignUp(rows * sizes.width * kSmallFloat, sbp::kAlignmentBytes) +
         2 * sbp::alignUp(rows * kFloat, sbp::kAlignmentBytes) + scores * kSmallFloat;
}

LibraryCall withWorkspace(LibraryCall call, int64_t bytes) {
  Builder builder(call.config.getContext());
  NamedAttrList config(call.config);
  config.set("workspace", builder.getI64IntegerAttr(bytes));
  call.config = config.getDictionary(call.config.getContext());
  call.workspaceBytes = bytes;
  return call;
}

std::optional<LibraryCall> onCuda(LibraryCall call) {
  if (call.name == "matmul")
    return call;
  const bool isGradient = call.name == "attention_grad";
  if ((call.name == "attention" || isGradient) && isFlashAttention(call))
    return withWorkspace(call, attentionWorkspace(AttentionSizes(call.config), isGradient));
  return std::nullopt;
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
    traits.sumsBesideRows = false;
    traits.sumStream = "reduce_scatter";
    traits.moveStream = "all_gather";
    traits.libraryCall = onCuda;
  }
  return traits;
}

} // namespace splitcast
