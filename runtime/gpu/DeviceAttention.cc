#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/gpu/AttentionRowsKernels.h"
#include "runtime/gpu/DeviceCalls.h"
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

absl::StatusOr<std::unique_ptr<Launchable>> createTileAttention(exec::AttentionAttr call, CallServices &services) {
  TileAttentionKernels kernels;
  kernels.extents = call.getExtents();
  const int64_t ofRows = (std::max(call.getPositions(), call.getKeys()) + kTileAttentionRows - 1) / kTileAttentionRows;
  const std::optional<int64_t> blocks = sbp::checkedBytes({call.getSamples(), call.getHeads(), ofRows}, 1);
  if (!blocks || *blocks > std::numeric_limits<int32_t>::max())
    return absl::InvalidArgumentError(
        absl::StrCat("library call '", std::string(call.getCallName()), "' takes a block for each ", kTileAttentionRows,
                     " rows of a sample's head, which is more than the 2^31 - 1 that a GPU "
                     "launches; use more ranks"));
  kernels.scale = call.getScale().getValueAsDouble();
  kernels.isCausal = call.getCausal();
  kernels.type = *elementTypeOf(call.getType());
  kernels.rounds = bytesOf(kernels.type) == 2 || services.allowsTf32();
  if (call.getMaskType())
    kernels.maskType = nameOf(*elementTypeOf(call.getMaskType()));
  return KernelCall::create(kernels.module(), std::string(call.getCallName()), services);
}

} // namespace

absl::StatusOr<std::unique_ptr<Launchable>> createDeviceAttention(exec::AttentionAttr call, CallServices &services,
                                                                  bool rounds) {
  const bool isGradient = call.getGradient();
  AttentionRowsKernels rows;
  rows.positions = call.getPositions();
  rows.keys = call.getKeys();
  rows.rows = call.getHeads() * call.getPositions();
  rows.scale = call.getScale().getValueAsDouble();
  rows.isCausal = call.getCausal();
  rows.hasStatistics = call.getStatistics() && !isGradient;
  rows.type = *elementTypeOf(call.getType());
  const int64_t workspace = call.getWorkspace().value_or(0);
  const std::string what = absl::StrCat("library call '", std::string(call.getCallName()), "'");
  const exec::AttentionExtents extents = call.getExtents();
  const std::optional<int64_t> needed = exec::deviceAttentionWorkspace(extents),
                               scores = exec::sampleScoresBytes(extents);
  const bool isTile = exec::isTileAttention(extents);
  if (!needed || (!isTile && !scores) || workspace < *needed ||
      (isTile && workspace > *needed)) // a kernel has a fixed size
    return absl::InvalidArgumentError(absl::StrCat(what, " has a workspace of ", workspace, " bytes; it needs ",
                                                   needed ? absl::StrCat(*needed) : "more than can be counted"));
  const std::vector<int64_t> operandBytes = call.getOperandBytes();
  if (absl::c_linear_search(operandBytes, 0))
    return absl::InvalidArgumentError(absl::StrCat(what, " has an empty operand; leave the call out of the plan"));
  if (isTile)
    return createTileAttention(call, services);
  const Sizes sizes{call.getSamples(), call.getPositions(), call.getKeys(), call.getHeads(),
                    call.getWidth(),   bytesOf(rows.type),  *scores};
  int64_t maskBytes = 0;
  if (call.getMaskType()) {
    const ElementType mask = *elementTypeOf(call.getMaskType());
    maskBytes = sizes.keys * bytesOf(mask);
    rows.maskType = nameOf(mask);
  }
  std::vector<int64_t> bytes = operandBytes;
  bytes.push_back(workspace);
  auto made = std::make_unique<DeviceAttention>(what, sizes, std::move(bytes), maskBytes, call.getStatistics());
  SPLITCAST_RETURN_IF_ERROR(made->prepare(rows, isGradient, services, rounds));
  return made;
}

} // namespace splitcast::runtime
