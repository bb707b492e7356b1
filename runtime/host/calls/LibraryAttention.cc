//===- LibraryAttention.cc - Scaled dot-product attention ---------------------===//
//
// #exec.attention<samples = B, positions = T, keys = S, heads = H, width = E, ...>, of bf16, f16, f32 and f64.
//   Operands  forward   query [B, T, H, E], key and value [B, S, H, E][, mask [B, S]]; output [B, T, H, E][, statistics
//                       [B, H, T]].
//             gradient  gradient [B, T, H, E], then as above[, output, statistics]; outputs the gradients of query, key
//                       and value.
//             Last, unless it is empty, a workspace: hostAttentionWorkspace.
//   Meaning   softmax(scale query key^T) value, per sample and head. Position i
//             sees the keys whose mask is not 0, and if causal only keys 0 to
//             i. A position that sees no key gives 0. Statistics are log(sum
//             of exp(scaled score)), in f32 for bf16 and f16. The gradient
//             computes the softmax again and does not read output and
//             statistics: its scores are in the cache anyway.
//
// The work is done in blocks of positions, whose scores stay in the cache. (The
// idea is that of Dao et al. 2022, arXiv:2205.14135, but here rows are whole,
// so that the softmax of a row is the textbook's.) If causal, keys that no
// position of the block sees are left out. Blocks come in ascending order, so
// the order of sums is fixed. bf16 and f16 are widened head by head, and
// results are rounded once. Threads share the heads. The first share uses the
// plan's workspace, and the others the scratch of their thread.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/calls/AttentionRows.h"
#include "runtime/host/calls/Gemm.h"
#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/calls/Scratch.h"
#include "runtime/host/calls/SmallFloats.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace splitcast::runtime {
namespace {

constexpr char kForward[] = "attention", kGradient[] = "attention_grad";

struct Sizes {
  int64_t samples, positions, keys, heads, width;
  double scale;
  bool causal, statistics;
  std::optional<ElementType> mask;

  /// Returns how many keys the positions before `end` see.
  int64_t seenBefore(int64_t end) const { return causal ? std::min(end, keys) : keys; }
  /// The elements from one position to the next, for one head.
  int64_t stride() const { return heads * width; }
  int64_t queryAt(int64_t sample, int64_t position, int64_t head) const {
    return ((sample * positions + position) * heads + head) * width;
  }
  int64_t keyAt(int64_t sample, int64_t head) const { return (sample * keys * heads + head) * width; }
};

/// The elements from one row to the next.
struct Strides {
  int64_t a, b, c;
};

/// Returns a product in which the scores of a block take part.
Gemm product(bool transposeA, bool transposeB, int64_t m, int64_t n, int64_t k, Strides strides) {
  return {transposeA, transposeB, m, n, k, strides.a, strides.b, strides.c};
}

/// How many threads share the heads of all samples.
int64_t sharesOf(const Sizes &sizes, const WorkerPool &pool) {
  return std::clamp<int64_t>(sizes.samples * sizes.heads, 1, pool.threads());
}

/// Calls `head(share, sample, head)` for all heads, those of one share on one
/// thread. Returns the first error.
template <typename Head> absl::Status forHeads(const Sizes &sizes, int64_t shares, WorkerPool &pool, Head head) {
  std::vector<absl::Status> statuses(shares);
  pool.run(shares, [&](int64_t share) {
    for (int64_t i = share; i < sizes.samples * sizes.heads && statuses[share].ok(); i += shares)
      statuses[share] = head(share, i / sizes.heads, i % sizes.heads);
  });
  for (const absl::Status &status : statuses)
    SPLITCAST_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

template <typename Float> class Attention : public Launchable {
public:
  Attention(const char *name, Sizes sizes, bool isGradient, std::vector<int64_t> argumentBytes,
            std::shared_ptr<WorkerPool> pool)
      : name(name), what(absl::StrCat("library call '", name, "'")), sizes(sizes), isGradient(isGradient),
        argumentBytes(std::move(argumentBytes)), pool(std::move(pool)), shares(sharesOf(this->sizes, *this->pool)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    bind(buffers);
    if (isGradient)
      for (Float *sum : {keyGrad, valueGrad})
        std::fill(sum, sum + sizes.samples * sizes.keys * sizes.stride(), Float(0));
    return forHeads(sizes, shares, *pool, [&](int64_t share, int64_t sample, int64_t head) {
      Float *weights =
          share == 0 ? workspace : reinterpret_cast<Float *>(scratchOfThread(scoresOfShare() * sizeof(Float)));
      absl::Status computed;
      for (int64_t begin = 0; begin < sizes.positions && computed.ok(); begin += exec::kAttentionBlock)
        computed = compute(sample, head, begin, std::min(begin + exec::kAttentionBlock, sizes.positions), weights);
      return computed;
    });
  }

  int64_t scratchBytes() const override { return shares > 1 ? scoresOfShare() * int64_t{sizeof(Float)} : 0; }

private:
  /// The number of scores of a share: two rows for each position of a block.
  int64_t scoresOfShare() const { return 2 * exec::kAttentionBlock * sizes.keys; }

  void bind(absl::Span<const Buffer> buffers) {
    size_t next = 0;
    auto floats = [&] { return reinterpret_cast<Float *>(buffers[next++].data); };
    gradient = isGradient ? floats() : nullptr;
    query = floats();
    key = floats();
    value = floats();
    mask = sizes.mask ? buffers[next++].data : nullptr;
    if (isGradient && sizes.statistics)
      next += 2; // output and statistics
    result = floats();
    statistics = !isGradient && sizes.statistics ? floats() : nullptr;
    keyGrad = isGradient ? floats() : nullptr;
    valueGrad = isGradient ? floats() : nullptr;
    workspace = sizes.keys > 0 ? floats() : nullptr;
  }

  /// Computes one block of positions of one head.
  absl::Status compute(int64_t sample, int64_t head, int64_t begin, int64_t end, Float *weights) const {
    const int64_t rows = end - begin, seen = sizes.seenBefore(end), stride = sizes.stride();
    const int64_t q = sizes.queryAt(sample, begin, head), k = sizes.keyAt(sample, head);
    Float *slopes = weights + exec::kAttentionBlock * sizes.keys;
    Gemm scores = product(false, true, rows, seen, sizes.width, {stride, stride, seen});
    scores.alpha = sizes.scale;
    absl::Status status = run(scores, query + q, key + k, weights);
    for (int64_t row = 0; row < rows; ++row) {
      hideUnseen(weights + row * seen, sample, begin + row, seen);
      const auto [max, sum] = kernels.softmax(weights + row * seen, seen);
      if (statistics)
        statistics[(sample * sizes.heads + head) * sizes.positions + begin + row] =
            sum == 0 ? Float(0) : max + std::log(sum);
    }
    if (!isGradient) {
      status.Update(
          run(product(false, false, rows, sizes.width, seen, {seen, stride, stride}), weights, value + k, result + q));
      return status;
    }
    status.Update(
        run(product(false, true, rows, seen, sizes.width, {stride, stride, seen}), gradient + q, value + k, slopes));
    for (int64_t row = 0; row < rows; ++row)
      kernels.softmaxGrad(weights + row * seen, slopes + row * seen, seen, static_cast<Float>(sizes.scale));
    status.Update(
        run(product(false, false, rows, sizes.width, seen, {seen, stride, stride}), slopes, key + k, result + q));
    Gemm sum = product(true, false, seen, sizes.width, rows, {seen, stride, stride});
    sum.beta = 1.0;
    status.Update(run(sum, slopes, query + q, keyGrad + k));
    status.Update(run(sum, weights, gradient + q, valueGrad + k));
    return status;
  }

  absl::Status run(const Gemm &gemm, const Float *a, const Float *b, Float *c) const {
    return gemm.multiply(name, a, b, c);
  }

  /// Sets the scores of keys that the position does not see to unseen().
  void hideUnseen(Float *scores, int64_t sample, int64_t position, int64_t count) const {
    const Float unseen = AttentionRows<Float>::unseen();
    if (sizes.causal)
      for (int64_t i = position + 1; i < count; ++i)
        scores[i] = unseen;
    if (!mask)
      return;
    for (int64_t i = 0; i < count; ++i)
      if (!isOn(sample * sizes.keys + i))
        scores[i] = unseen;
  }

  bool isOn(int64_t index) const {
    return *sizes.mask == ElementType::I64 ? reinterpret_cast<const int64_t *>(mask)[index] != 0
                                           : reinterpret_cast<const int32_t *>(mask)[index] != 0;
  }

  const char *name;
  const std::string what;
  const Sizes sizes;
  const bool isGradient;
  const std::vector<int64_t> argumentBytes;
  const std::shared_ptr<WorkerPool> pool;
  const int64_t shares;
  const AttentionRows<Float> kernels = AttentionRows<Float>::forThisCpu();
  // The operands of the current launch.
  const Float *gradient = nullptr, *query = nullptr, *key = nullptr, *value = nullptr;
  const void *mask = nullptr;
  Float *result = nullptr, *statistics = nullptr, *keyGrad = nullptr, *valueGrad = nullptr, *workspace = nullptr;
};

/// Attention of bf16 or f16. Each head of each sample is a call in f32.
class SmallAttention : public Launchable {
public:
  SmallAttention(const char *name, ElementType type, const Sizes &sizes, const exec::SampleInFloats &layout,
                 std::vector<int64_t> argumentBytes, std::shared_ptr<WorkerPool> pool)
      : what(absl::StrCat("library call '", name, "'")), sizes(sizes), layout(layout), floats(SmallFloats::of(type)),
        argumentBytes(std::move(argumentBytes)), all(partsOf(this->sizes, layout)), pool(std::move(pool)),
        shares(sharesOf(this->sizes, *this->pool)) {
    Sizes ofOne = sizes;
    ofOne.samples = ofOne.heads = 1;
    ofOne.statistics = layout.one.hasStatistics;
    for (const Part &part : all)
      bytesOfOne.push_back(bytesOf(part));
    if (sizes.keys > 0)
      bytesOfOne.push_back(exec::hostAttentionWorkspace(layout.one).value_or(0));
    const auto alone = std::make_shared<WorkerPool>(1);
    for (int64_t share = 0; share < shares; ++share)
      ones.push_back(std::make_unique<Attention<float>>(name, ofOne, layout.one.isGradient, bytesOfOne, alone));
  }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    const std::vector<Buffer> operands = used(buffers);
    return forHeads(sizes, shares, *pool, [&](int64_t share, int64_t sample, int64_t head) {
      const Buffer workspace = share == 0 ? buffers.back() : Buffer{scratchOfThread(layout.total), layout.total};
      return computeHead(operands, sample, head, workspace, *ones[share], stream);
    });
  }

  int64_t scratchBytes() const override { return shares > 1 ? layout.total : 0; }

private:
  /// An operand or result of one head.
  struct Part {
    enum Kind { Input, Result, Mask, Statistics };

    int64_t begin, positions; ///< where it begins in the workspace, and how many positions it has
    Kind kind = Input;
    /// Whether it is widened or rounded; if not, it stays where it is.
    bool isSmall() const { return kind == Input || kind == Result; }
  };

  static std::vector<Part> partsOf(const Sizes &sizes, const exec::SampleInFloats &layout) {
    std::vector<Part> all;
    if (layout.one.isGradient)
      all.push_back({layout.gradient, sizes.positions});
    all.insert(all.end(), {{layout.query, sizes.positions}, {layout.key, sizes.keys}, {layout.value, sizes.keys}});
    if (sizes.mask)
      all.push_back({0, sizes.keys, Part::Mask});
    all.push_back({layout.result, sizes.positions, Part::Result});
    if (layout.one.hasStatistics)
      all.push_back({0, sizes.positions, Part::Statistics});
    if (layout.one.isGradient)
      all.insert(all.end(), {{layout.keyGrad, sizes.keys, Part::Result}, {layout.valueGrad, sizes.keys, Part::Result}});
    return all;
  }

  /// Returns the bytes of one head's part; those of a mask are of all heads.
  int64_t bytesOf(const Part &part) const {
    if (part.kind == Part::Mask)
      return sizes.keys * (*sizes.mask == ElementType::I64 ? 8 : 4);
    return part.positions * (part.kind == Part::Statistics ? 1 : sizes.width) * int64_t{sizeof(float)};
  }

  /// Returns the operands of `all`: those that the gradient does not read are
  /// left out.
  std::vector<Buffer> used(absl::Span<const Buffer> buffers) const {
    std::vector<Buffer> result(buffers.begin(), buffers.end());
    if (layout.one.isGradient && sizes.statistics) {
      const auto output = result.begin() + (sizes.mask ? 5 : 4);
      result.erase(output, output + 2);
    }
    return result;
  }

  absl::Status computeHead(absl::Span<const Buffer> buffers, int64_t sample, int64_t head, const Buffer &workspace,
                           Launchable &one, Stream &stream) const {
    std::vector<Buffer> ofOne;
    for (size_t i = 0; i < all.size(); ++i) {
      const Part &part = all[i];
      const int64_t number = part.kind == Part::Mask ? sample : sample * sizes.heads + head;
      ofOne.push_back(part.isSmall() ? workspace.slice(part.begin, bytesOfOne[i])
                                     : buffers[i].slice(number * bytesOfOne[i], bytesOfOne[i]));
      if (part.kind == Part::Input)
        forRows(buffers[i], part, sample, head, ofOne.back(),
                [&](uint16_t *small, float *wide) { floats.widen(small, wide, sizes.width); });
    }
    if (bytesOfOne.size() > all.size())
      ofOne.push_back(workspace.slice(layout.workspace, bytesOfOne.back()));
    absl::Status status = one.launch(ofOne, stream);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].kind == Part::Result)
        forRows(buffers[i], all[i], sample, head, ofOne[i],
                [&](uint16_t *small, float *wide) { floats.round(wide, small, sizes.width); });
    return status;
  }

  /// Calls `each` for each row of a head: in the operand, and in the workspace.
  template <typename Each>
  void forRows(const Buffer &operand, const Part &part, int64_t sample, int64_t head, const Buffer &wide,
               Each each) const {
    for (int64_t position = 0; position < part.positions; ++position)
      each(reinterpret_cast<uint16_t *>(operand.data) +
               ((sample * part.positions + position) * sizes.heads + head) * sizes.width,
           reinterpret_cast<float *>(wide.data) + position * sizes.width);
  }

  const std::string what;
  const Sizes sizes;
  const exec::SampleInFloats layout;
  const SmallFloats floats;
  const std::vector<int64_t> argumentBytes;
  const std::vector<Part> all; ///< in the order of the operands
  std::vector<int64_t> bytesOfOne;
  const std::shared_ptr<WorkerPool> pool;
  const int64_t shares;
  std::vector<std::unique_ptr<Launchable>> ones; ///< one per share
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface any,
                                                   const LibraryCallOptions &options) {
  auto call = callAs<exec::AttentionAttr>(any);
  const char *name = call.getGradient() ? kGradient : kForward;
  Sizes sizes{call.getSamples(), call.getPositions(),  call.getKeys(),
              call.getHeads(),   call.getWidth(),      call.getScale().getValueAsDouble(),
              call.getCausal(),  call.getStatistics(), std::nullopt};
  if (call.getMaskType())
    sizes.mask = elementTypeOf(call.getMaskType());
  const ElementType type = *elementTypeOf(call.getType());
  std::vector<int64_t> bytes = call.getOperandBytes();
  if (const int64_t workspace = exec::hostAttentionWorkspace(call.getExtents()).value_or(0); workspace > 0)
    bytes.push_back(workspace);
  if (type == ElementType::F32)
    return std::make_unique<Attention<float>>(name, sizes, call.getGradient(), bytes, options.pool);
  if (type == ElementType::F64)
    return std::make_unique<Attention<double>>(name, sizes, call.getGradient(), bytes, options.pool);
  return std::make_unique<SmallAttention>(name, type, sizes, *exec::headInFloats(call.getExtents()), bytes,
                                          options.pool);
}

const LibraryCallRegistration forward(kForward, create), backward(kGradient, create);

} // namespace
} // namespace splitcast::runtime
