//===- LibraryConvolution.cc - Convolutions and their gradients ---------------===//
//
// #exec.convolution, of bf16, f16 and f32.
//   Operands  as the attribute says, dense.
//   Sums      in an order that depends on sizes and CPU, but not on the number
//             of threads. bf16 and f16 are added in f32 and rounded once.
//
// A large convolution is done in parts, each by one thread: parts of the
// samples or, for the gradient of the weight, of its groups or outputs. The
// parts depend on the sizes alone; threads only share them.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/calls/OneDnnConvolution.h"
#include "runtime/host/calls/Scratch.h"
#include "runtime/host/calls/SmallFloats.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast::runtime {
namespace {

using exec::ConvolutionAttr;

/// The work of a part. It takes some milliseconds, so that copying the operands
/// costs little in comparison.
constexpr double kPartFlops = 2e8;
constexpr int64_t kMostParts = 16;
constexpr int64_t kOutputsUnit = 16; ///< the outputs of a part of the weight are a multiple of this
constexpr int64_t kLine = 64;        ///< bytes per cache line

int64_t floatsAsBytes(int64_t count) {
  return (count * static_cast<int64_t>(sizeof(float)) + kLine - 1) / kLine * kLine;
}

/// The elements of a tensor that a part uses: `count` blocks, whose begins are
/// `stride` apart.
struct Slice {
  int64_t begin = 0, count = 1, block = 0, stride = 0;
  int64_t elements() const { return count * block; }
};

struct Part {
  std::unique_ptr<OneDnnConvolution> convolution;
  std::array<Slice, 3> slices; ///< of the two operands and of the result
};

ConvolutionSizes sizesOf(ConvolutionAttr call) {
  ConvolutionSizes sizes;
  sizes.makes = call.getCall() == ConvolutionAttr::kOutput  ? ConvolutionMakes::Output
                : call.getCall() == ConvolutionAttr::kInput ? ConvolutionMakes::Input
                                                            : ConvolutionMakes::Weight;
  sizes.samples = call.getInput()[0];
  sizes.groups = call.getGroups();
  sizes.channels = call.getWeight()[1];
  sizes.outputs = call.getWeight()[0] / sizes.groups;
  for (unsigned i : {0, 1}) {
    sizes.extents[i] = call.getInput()[2 + i];
    sizes.along[i] = {call.getWeight()[2 + i], call.getStrides()[i], call.getPadding()[i], call.getDilation()[i]};
  }
  sizes.inputStride = sizes.inputOfSample();
  sizes.outputStride = sizes.outputOfSample();
  return sizes;
}

class Convolution final : public Launchable {
public:
  Convolution(ConvolutionAttr call, std::shared_ptr<WorkerPool> pool)
      : name(call.getCall().str()), sizes(sizesOf(call)), argumentBytes(call.getOperandBytes()), pool(std::move(pool)) {
  }

  /// Divides the convolution into parts.
  absl::Status prepare(ElementType elements) {
    type = elements;
    const int64_t divided = sizes.makes != ConvolutionMakes::Weight ? sizes.samples
                            : sizes.groups > 1                      ? sizes.groups
                                                                    : sizes.outputs;
    const int64_t unit = sizes.makes == ConvolutionMakes::Weight ? kOutputsUnit : 1;
    const auto wanted = static_cast<int64_t>(std::min(sizes.flops() / kPartFlops, double{kMostParts}));
    const int64_t count = std::max<int64_t>(wanted, 1), size = (divided + count * unit - 1) / (count * unit) * unit;
    for (int64_t begin = 0; begin < divided; begin += size)
      SPLITCAST_RETURN_IF_ERROR(addPart(begin, std::min(size, divided - begin)));
    statuses.resize(parts.size());
    return absl::OkStatus();
  }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    pool->run(static_cast<int64_t>(parts.size()), [&](int64_t part) {
      statuses[part] = type == ElementType::F32 ? run(parts[part], buffers) : runWidened(parts[part], buffers);
    });
    for (const absl::Status &status : statuses)
      SPLITCAST_RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  int64_t scratchBytes() const override {
    int64_t most = 0;
    for (const Part &part : parts)
      most = std::max(most, part.convolution->scratchBytes() + bytesOfFloats(part));
    return most;
  }

private:
  /// Adds the part that has `count` samples, groups or outputs, from `begin`
  /// on.
  absl::Status addPart(int64_t begin, int64_t count) {
    ConvolutionSizes one = sizes;
    Part part;
    Slice input{0, sizes.samples, sizes.inputStride, sizes.inputStride},
        output{0, sizes.samples, sizes.outputStride, sizes.outputStride},
        weight{0, 1, sizes.weightElements(), sizes.weightElements()};
    if (sizes.makes != ConvolutionMakes::Weight) {
      one.samples = input.count = output.count = count;
      input.begin = begin * input.stride;
      output.begin = begin * output.stride;
    } else {
      int64_t &divided = sizes.groups > 1 ? one.groups : one.outputs;
      const int64_t whole = std::exchange(divided, count);
      for (auto [slice, block] :
           {std::pair(&weight, one.weightElements()), {&output, one.outputOfSample()}, {&input, one.inputOfSample()}}) {
        slice->begin = block == slice->block ? 0 : slice->block / whole * begin;
        slice->block = block;
      }
    }
    if (type != ElementType::F32) { // the copies in f32 are dense
      one.inputStride = input.block;
      one.outputStride = output.block;
    }
    const bool makesOutput = sizes.makes == ConvolutionMakes::Output,
               makesInput = sizes.makes == ConvolutionMakes::Input;
    part.slices = makesOutput  ? std::array{input, weight, output}
                  : makesInput ? std::array{output, weight, input}
                               : std::array{output, input, weight};
    SPLITCAST_ASSIGN_OR_RETURN(part.convolution, OneDnnConvolution::create(name.c_str(), one));
    parts.push_back(std::move(part));
    return absl::OkStatus();
  }

  static absl::Status run(const Part &part, absl::Span<const Buffer> buffers) {
    const auto at = [&](size_t i) { return reinterpret_cast<float *>(buffers[i].data) + part.slices[i].begin; };
    return part.convolution->run(at(0), at(1), at(2), scratchOfThread(part.convolution->scratchBytes()));
  }

  int64_t bytesOfFloats(const Part &part) const {
    int64_t bytes = 0;
    for (const Slice &slice : part.slices)
      bytes += type == ElementType::F32 ? 0 : floatsAsBytes(slice.elements());
    return bytes;
  }

  /// Runs a part on copies of the operands in f32.
  absl::Status runWidened(const Part &part, absl::Span<const Buffer> buffers) const {
    const SmallFloats small = SmallFloats::of(type);
    std::byte *scratch = scratchOfThread(bytesOfFloats(part) + part.convolution->scratchBytes());
    std::array<float *, 3> floats;
    std::array<uint16_t *, 3> given;
    for (size_t i = 0; i < 3; ++i) {
      floats[i] = reinterpret_cast<float *>(scratch);
      scratch += floatsAsBytes(part.slices[i].elements());
      given[i] = reinterpret_cast<uint16_t *>(buffers[i].data) + part.slices[i].begin;
    }
    for (size_t i = 0; i < 2; ++i)
      for (int64_t block = 0; block < part.slices[i].count; ++block)
        small.widen(given[i] + block * part.slices[i].stride, floats[i] + block * part.slices[i].block,
                    part.slices[i].block);
    SPLITCAST_RETURN_IF_ERROR(part.convolution->run(floats[0], floats[1], floats[2], scratch));
    for (int64_t block = 0; block < part.slices[2].count; ++block)
      small.round(floats[2] + block * part.slices[2].block, given[2] + block * part.slices[2].stride,
                  part.slices[2].block);
    return absl::OkStatus();
  }

  const std::string name, what = absl::StrCat("library call '", name, "'");
  const ConvolutionSizes sizes;
  const std::vector<int64_t> argumentBytes;
  const std::shared_ptr<WorkerPool> pool;
  ElementType type = ElementType::F32;
  std::vector<Part> parts;
  std::vector<absl::Status> statuses; ///< of the current launch, by part
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface any,
                                                   const LibraryCallOptions &options) {
  auto call = callAs<ConvolutionAttr>(any);
  auto convolution = std::make_unique<Convolution>(call, options.pool);
  SPLITCAST_RETURN_IF_ERROR(convolution->prepare(*elementTypeOf(call.getType())));
  return convolution;
}

const LibraryCallRegistration output("convolution", create), input("convolution_data_grad", create),
    weight("convolution_weight_grad", create);

} // namespace
} // namespace splitcast::runtime
