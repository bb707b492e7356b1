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
bool isFlashAttention(const LibraryCall &call, const AttentionSizes &sizes) {
  constexpr int64_t kWidths = 8, kWidest = 128;
  return isOfSmallFloats(call) && !call.config.contains("mask_type") && sizes.width % kWidths == 0 &&
         sizes.width <= kWidest && sizes.positions * sizes.keys > 1;
}

/// cuDNN's own, and for the gradient what the forward graph leaves for the backward one: the output, and two floats per
/// row. cuDNN's is a small float per score (positions rounded up to 64, keys to 128): measured, not documented.
int64_t flashWorkspace(const AttentionSizes &sizes, bool isGradient) {
  constexpr int64_t kSmallFloat = 2, kFloat = 4, kBase = int64_t{1} << 16;
  if (!isGradient)
    return kBase;
  const int64_t heads = sizes.samples * sizes.heads, rows = heads * sizes.positions;
  const int64_t scores = heads * llvm::alignTo(sizes.positions, 64) * llvm::alignTo(sizes.keys, 128);
  return kBase + sbp::alignUp(rows * sizes.width * kSmallFloat, sbp::kAlignmentBytes) +
         2 * sbp::alignUp(rows * kFloat, sbp::kAlignmentBytes) + scores * kSmallFloat;
}

/// The scores of a sample, and for the gradient theirs.
int64_t scoresWorkspace(const AttentionSizes &sizes, Type element, bool isGradient) {
  const int64_t scores = sbp::alignUp(sizes.heads * sizes.positions * sizes.keys * element.getIntOrFloatBitWidth() / 8,
                                      sbp::kAlignmentBytes);
  return isGradient ? 2 * scores : scores;
}

LibraryCall withWorkspace(LibraryCall call, int64_t bytes) {
  Builder builder(call.config.getContext());
  NamedAttrList config(call.config);
  config.set("workspace", builder.getI64IntegerAttr(bytes));
  call.config = config.getDictionary(call.config.getContext());
  call.workspaceBytes = bytes;
  return call;
}

bool isEmpty(const LibraryCall &call, ArrayRef<StringRef> extents) {
  return llvm::any_of(extents, [&](StringRef name) { return call.config.getAs<IntegerAttr>(name).getInt() == 0; });
}

/// Calls that CUDA's libraries or runtime/gpu/DeviceCalls.h have.
std::optional<LibraryCall> onCuda(LibraryCall call) {
  if (call.name == "matmul")
    return call;
  if (call.name == "embedding_grad") {
    if (isOfSmallFloats(call) || isEmpty(call, {"rows", "vocabulary", "width"}))
      return std::nullopt;
    return withWorkspace(call, 0);
  }
  const bool isGradient = call.name == "attention_grad";
  if (call.name != "attention" && !isGradient)
    return std::nullopt;
  if (isEmpty(call, {"samples", "positions", "keys", "heads", "width"}))
    return std::nullopt;
  const AttentionSizes sizes(call.config);
  if (isFlashAttention(call, sizes))
    return withWorkspace(call, flashWorkspace(sizes, isGradient));
  if (isOfSmallFloats(call))
    return std::nullopt;
  return withWorkspace(call, scoresWorkspace(sizes, call.config.getAs<TypeAttr>("type").getValue(), isGradient));
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
