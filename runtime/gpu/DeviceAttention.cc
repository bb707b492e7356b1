#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/gpu/AttentionCall.h"
#include "runtime/gpu/AttentionRowsKernels.h"
#include "runtime/gpu/KernelCall.h"
#include "runtime/gpu/TileAttentionKernels.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace splitcast::runtime {
namespace {

struct Sizes {
  int64_t samples, positions, keys, heads, width, element;
  int64_t toNextScores;

  int64_t scoreBytes() const { return heads * positions * keys * element; }
  int64_t queryBytes() const { return positions * heads * width * element; } ///< per sample
  int64_t keyBytes() const { return keys * heads * width * element; }
  int64_t statisticsBytes() const { return heads * positions * element; }
};

/// Describes products of all heads of a sample. In a tensor [positions, heads,
/// width], a row begins heads * width elements after the preceding one, and a
/// head `width` elements after the preceding one.
struct Products {
  const Sizes &sizes;
  ElementType type;

  int64_t row() const { return sizes.heads * sizes.width; }
  int64_t scores() const { return sizes.positions * sizes.keys; }

  /// Rows of two tensors, [positions, width] and [keys, width], to scores
  /// [positions, keys].
  StridedProduct ofRows() const {
    return {type,  false,      true,        sizes.positions, sizes.keys,  sizes.width, row(),
            row(), sizes.keys, sizes.heads, sizes.width,     sizes.width, scores()};
  }
  /// Scores times rows of keys, to [positions, width].
  StridedProduct toPositions() const {
    return {type,  false, false,       sizes.positions, sizes.width, sizes.keys, sizes.keys,
            row(), row(), sizes.heads, scores(),        sizes.width, sizes.width};
  }
  /// Transposed scores times rows of positions, to [keys, width].
  StridedProduct toKeys() const {
    return {type,  true,  false,       sizes.keys, sizes.width, sizes.positions, sizes.keys,
            row(), row(), sizes.heads, scores(),   sizes.width, sizes.width};
  }
};

class DeviceAttention final : public Launchable {
public:
  DeviceAttention(std::string what, const Sizes &sizes, std::vector<int64_t> argumentBytes, int64_t maskBytes,
                  bool hasStatistics)
      : what(std::move(what)), sizes(sizes), argumentBytes(std::move(argumentBytes)), maskBytes(maskBytes),
        hasStatistics(hasStatistics) {}

  absl::Status prepare(const AttentionRowsKernels &rows, bool isGradient, CallServices &services, bool rounds) {
    SPLITCAST_ASSIGN_OR_RETURN(library, services.kernels(rows.module()));
    const Products products{sizes, rows.type};
    const auto makeProduct = [&](StridedProduct product, std::unique_ptr<ProductCall> &to) {
      product.roundsToTf32 = rounds;
      return take(services.product(product), to);
    };
    absl::Status status = take(library->kernel("softmax"), softmax);
    status.Update(makeProduct(products.ofRows(), ofRows));
    status.Update(makeProduct(products.toPositions(), toPositions));
    if (!isGradient)
      return status;
    status.Update(take(library->kernel("softmax_gradient"), softmaxGradient));
    status.Update(makeProduct(products.toKeys(), toKeys));
    return status;
  }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    absl::Status status = checkBuffers(what, argumentBytes, buffers);
    for (int64_t sample = 0; sample < sizes.samples && status.ok(); ++sample)
      status = softmaxGradient ? backward(buffers, sample, stream) : forward(buffers, sample, stream);
    return status;
  }

private:
  template <typename T> static absl::Status take(absl::StatusOr<std::unique_ptr<T>> made, std::unique_ptr<T> &to) {
    SPLITCAST_ASSIGN_OR_RETURN(to, std::move(made));
    return absl::OkStatus();
  }

  std::byte *query(Buffer buffer, int64_t sample) const { return buffer.data + sample * sizes.queryBytes(); }
  std::byte *key(Buffer buffer, int64_t sample) const { return buffer.data + sample * sizes.keyBytes(); }
  Buffer scores(absl::Span<const Buffer> buffers, int64_t number) const {
    return buffers.back().slice(number * sizes.toNextScores, sizes.scoreBytes());
  }

  /// Computes the probabilities of a sample into the first scores of the
  /// workspace, and writes its statistics unless they are null.
  absl::Status probabilities(absl::Span<const Buffer> queryAndOthers, const Buffer *statistics, Buffer all,
                             int64_t sample, Stream &stream) const {
    SPLITCAST_RETURN_IF_ERROR(
        ofRows->launch(query(queryAndOthers[0], sample), key(queryAndOthers[1], sample), all.data, stream));
    std::vector<Buffer> arguments = {all};
    if (maskBytes > 0)
      arguments.push_back(queryAndOthers[3].slice(sample * maskBytes, maskBytes));
    if (statistics)
      arguments.push_back(statistics->slice(sample * sizes.statisticsBytes(), sizes.statisticsBytes()));
    return softmax->launch(arguments, stream);
  }

  absl::Status forward(absl::Span<const Buffer> buffers, int64_t sample, Stream &stream) const {
    const size_t output = maskBytes ? 4 : 3;
    const Buffer *statistics = hasStatistics ? &buffers[output + 1] : nullptr;
    SPLITCAST_RETURN_IF_ERROR(probabilities(buffers, statistics, scores(buffers, 0), sample, stream));
    return toPositions->launch(scores(buffers, 0).data, key(buffers[2], sample), query(buffers[output], sample),
                               stream);
  }

  /// Output and statistics are not read: the rows of scores have to be read
  /// anyway, and with them come their sums.
  absl::Status backward(absl::Span<const Buffer> buffers, int64_t sample, Stream &stream) const {
    const Buffer gradient = buffers[0], queries = buffers[1], keys = buffers[2], values = buffers[3];
    const size_t outputs = (maskBytes ? 5 : 4) + (hasStatistics ? 2 : 0);
    const Buffer p = scores(buffers, 0), slope = scores(buffers, 1);
    absl::Status status = probabilities(buffers.subspan(1), nullptr, p, sample, stream);
    if (status.ok())
      status = toKeys->launch(p.data, query(gradient, sample), key(buffers[outputs + 2], sample), stream);
    if (status.ok())
      status = ofRows->launch(query(gradient, sample), key(values, sample), slope.data, stream);
    if (status.ok())
      status = softmaxGradient->launch({p, slope}, stream);
    if (status.ok())
      status = toPositions->launch(slope.data, key(keys, sample), query(buffers[outputs], sample), stream);
    if (status.ok())
      status = toKeys->launch(slope.data, query(queries, sample), key(buffers[outputs + 1], sample), stream);
    return status;
  }

  const std::string what;
  const Sizes sizes;
  const std::vector<int64_t> argumentBytes;
  const int64_t maskBytes; ///< the bytes per sample; 0 if there is no mask
  const bool hasStatistics;
  std::shared_ptr<KernelLibrary> library;
  std::unique_ptr<Launchable> softmax, softmaxGradient;
  std::unique_ptr<ProductCall> ofRows, toPositions, toKeys;
};

absl::StatusOr<std::unique_ptr<Launchable>> createTileAttention(const AttentionCall &call, CallServices &services) {
  TileAttentionKernels kernels;
  kernels.extents = call.extents;
  const int64_t ofRows =
      (std::max(call.extents.positions, call.extents.keys) + kTileAttentionRows - 1) / kTileAttentionRows;
  const std::optional<int64_t> blocks = sbp::checkedBytes({call.extents.samples, call.extents.heads, ofRows}, 1);
  if (!blocks || *blocks > std::numeric_limits<int32_t>::max())
    return absl::InvalidArgumentError(absl::StrCat(call.what, " takes a block for each ", kTileAttentionRows,
                                                   " rows of a sample's head, which is more than the 2^31 - 1 that a "
                                                   "GPU launches; use more ranks"));
  kernels.scale = call.scale;
  kernels.isCausal = call.isCausal;
  kernels.type = call.type;
  kernels.rounds = bytesOf(kernels.type) == 2 || services.allowsTf32();
  if (call.mask)
    kernels.maskType = nameOf(*call.mask);
  return KernelCall::create(kernels.module(), call.name, services);
}

absl::StatusOr<std::unique_ptr<Launchable>> createRowsAttention(const AttentionCall &call, CallServices &services) {
  const exec::AttentionExtents &e = call.extents;
  AttentionRowsKernels rows;
  rows.positions = e.positions;
  rows.keys = e.keys;
  rows.rows = e.heads * e.positions;
  rows.scale = call.scale;
  rows.isCausal = call.isCausal;
  rows.hasStatistics = e.hasStatistics && !e.isGradient;
  rows.type = call.type;
  const Sizes sizes{e.samples, e.positions, e.keys, e.heads, e.width, bytesOf(rows.type), *exec::sampleScoresBytes(e)};
  int64_t maskBytes = 0;
  if (call.mask) {
    maskBytes = sizes.keys * bytesOf(*call.mask);
    rows.maskType = nameOf(*call.mask);
  }
  std::vector<int64_t> bytes = call.operandBytes;
  bytes.push_back(call.workspaceBytes);
  auto made = std::make_unique<DeviceAttention>(call.what, sizes, std::move(bytes), maskBytes, e.hasStatistics);
  SPLITCAST_RETURN_IF_ERROR(made->prepare(rows, e.isGradient, services, call.roundsToTf32));
  return made;
}

} // namespace

AttentionCall AttentionCall::of(exec::AttentionAttr from) {
  AttentionCall call;
  call.name = std::string(from.getCallName());
  call.what = absl::StrCat("library call '", call.name, "'");
  call.extents = from.getExtents();
  call.scale = from.getScale().getValueAsDouble();
  call.isCausal = from.getCausal();
  call.type = *elementTypeOf(from.getType());
  if (from.getMaskType())
    call.mask = elementTypeOf(from.getMaskType());
  call.operandBytes = from.getOperandBytes();
  call.workspaceBytes = from.getWorkspace().value_or(0);
  return call;
}

absl::StatusOr<std::unique_ptr<Launchable>> createAttention(const AttentionCall &call, CallServices &services) {
  return exec::isTileAttention(call.extents) ? createTileAttention(call, services)
                                             : createRowsAttention(call, services);
}

absl::StatusOr<std::unique_ptr<Launchable>> createDeviceAttention(exec::AttentionAttr attribute,
                                                                  CallServices &services) {
  const AttentionCall call = AttentionCall::of(attribute);
  const std::optional<int64_t> needed = exec::deviceAttentionWorkspace(call.extents);
  const bool isTile = exec::isTileAttention(call.extents);
  if (!needed || call.workspaceBytes < *needed ||
      (isTile && call.workspaceBytes > *needed)) // a kernel has a fixed size
    return absl::InvalidArgumentError(absl::StrCat(call.what, " has a workspace of ", call.workspaceBytes,
                                                   " bytes; it needs ",
                                                   needed ? absl::StrCat(*needed) : "more than can be counted"));
  if (absl::c_linear_search(call.operandBytes, 0))
    return absl::InvalidArgumentError(absl::StrCat(call.what, " has an empty operand; leave the call out of the plan"));
  return bytesOf(call.type) == 2 && !isTile ? createSmallAttention(call, services) : createAttention(call, services);
}

} // namespace splitcast::runtime
