#include "dialects/exec/AttentionWorkspace.h"

#include "dialects/sbp/algebra/Sizes.h"

namespace splitcast::exec {

namespace {

std::optional<int64_t> alignedBytes(const sbp::Shape &shape, int64_t elementBytes) {
  std::optional<int64_t> bytes = sbp::checkedBytes(shape, elementBytes);
  return bytes ? sbp::checkedAlignUp(*bytes, sbp::kAlignmentBytes) : std::nullopt;
}

std::optional<int64_t> sum(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? sbp::checkedSum(*a, *b) : std::nullopt;
}

std::optional<SampleInFloats> inFloats(const AttentionExtents &call, int64_t heads,
                                       std::optional<int64_t> (*workspaceOf)(const AttentionExtents &)) {
  constexpr int64_t kFloat = 4;
  SampleInFloats made;
  made.one = call;
  made.one.samples = 1;
  made.one.heads = heads;
  made.one.hasStatistics = call.hasStatistics && !call.isGradient; // these gradients do without
  made.one.elementBytes = kFloat;
  std::optional<int64_t> end = 0;
  const auto place = [&](int64_t &begin, std::optional<int64_t> bytes) {
    begin = end.value_or(0);
    end = sum(end, bytes);
  };
  const std::optional<int64_t> query = alignedBytes({call.positions, heads, call.width}, kFloat),
                               key = alignedBytes({call.keys, heads, call.width}, kFloat);
  if (call.isGradient)
    place(made.gradient, query);
  place(made.query, query);
  place(made.key, key);
  place(made.value, key);
  place(made.result, query);
  if (call.isGradient) {
    place(made.keyGrad, key);
    place(made.valueGrad, key);
  }
  place(made.workspace, workspaceOf(made.one));
  made.total = end.value_or(0);
  return end ? std::optional(made) : std::nullopt;
}

} // namespace

bool isAddressable(const AttentionExtents &call) {
  return hostAttentionWorkspace(call) && deviceAttentionWorkspace(call) && flashAttentionLayout(call);
}

std::optional<int64_t> hostAttentionWorkspace(const AttentionExtents &call) {
  constexpr int64_t kSmallFloat = 2;
  if (call.elementBytes > kSmallFloat)
    return alignedBytes({2 * kAttentionBlock, call.keys}, call.elementBytes);
  const std::optional<SampleInFloats> head = headInFloats(call);
  return head ? std::optional(head->total) : std::nullopt;
}

std::optional<SampleInFloats> headInFloats(const AttentionExtents &call) {
  return inFloats(call, 1, hostAttentionWorkspace);
}

std::optional<SampleInFloats> sampleInFloats(const AttentionExtents &call) {
  return inFloats(call, call.heads, deviceAttentionWorkspace);
}

std::optional<int64_t> sampleScoresBytes(const AttentionExtents &call) {
  return alignedBytes({call.heads, call.positions, call.keys}, call.elementBytes);
}

bool isTileAttention(const AttentionExtents &call) {
  constexpr int64_t kFloat = 4, kWidest = 64;
  return call.elementBytes <= kFloat && call.width <= kWidest;
}

std::optional<int64_t> deviceAttentionWorkspace(const AttentionExtents &call) {
  constexpr int64_t kStatistics = 3, kFloat = 4;
  if (isTileAttention(call))
    return call.isGradient ? sbp::checkedBytes({kStatistics, call.samples, call.heads, call.positions}, kFloat) : 0;
  if (call.elementBytes < kFloat) {
    const std::optional<SampleInFloats> sample = sampleInFloats(call);
    return sample ? std::optional(sample->total) : std::nullopt;
  }
  const std::optional<int64_t> scores = sampleScoresBytes(call);
  return call.isGradient ? sum(scores, scores) : scores;
}

bool isFlashAttention(const AttentionExtents &call) {
  constexpr int64_t kSmallFloat = 2, kWidths = 8, kWidest = 128;
  return call.elementBytes == kSmallFloat && !call.hasMask && call.width % kWidths == 0 && call.width <= kWidest &&
         call.keys > 1; // cuDNN 9.18's notes: no gradients for one key
}

/// The workspace of cuDNN itself has, for the gradient, a small float per
/// score, with positions rounded up to 64 and keys to 128. This was measured;
/// it is not documented.
std::optional<FlashAttentionLayout> flashAttentionLayout(const AttentionExtents &call) {
  constexpr int64_t kSmallFloat = 2, kFloat = 4, kBase = int64_t{1} << 16, kPositions = 64, kKeys = 128;
  if (!call.isGradient)
    return FlashAttentionLayout{0, 0, 0, kBase};
  const std::optional<int64_t> positions = sbp::checkedAlignUp(call.positions, kPositions),
                               keys = sbp::checkedAlignUp(call.keys, kKeys);
  if (!positions || !keys)
    return std::nullopt;
  const std::optional<int64_t> output =
                                   alignedBytes({call.samples, call.heads, call.positions, call.width}, kSmallFloat),
                               floats = alignedBytes({call.samples, call.heads, call.positions}, kFloat),
                               statistics = call.hasStatistics ? 0 : output,
                               delta = call.hasStatistics ? 0 : sum(statistics, floats), library = sum(delta, floats),
                               total =
                                   sum(sum(library, kBase),
                                       sbp::checkedBytes({call.samples, call.heads, *positions, *keys}, kSmallFloat));
  return total ? std::optional(FlashAttentionLayout{*statistics, *delta, *library, *total}) : std::nullopt;
}

} // namespace splitcast::exec
