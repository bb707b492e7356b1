// oneDNN is fast for tensors that lie in blocks of channels. So it is asked
// which layouts it wants, and tensors in other layouts are copied to scratch
// memory and back.
#include "runtime/host/calls/OneDnnConvolution.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/host/calls/OneDnn.h"

#include "absl/strings/str_cat.h"

#include <vector>

namespace splitcast::runtime {
namespace {

using onednn::engine;
using onednn::Owned;

constexpr int64_t kLine = 64; ///< bytes per cache line
int64_t roundedUp(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

using Description = const dnnl_memory_desc_t *;

/// Runs steps until the first that fails, whose status it keeps.
struct Steps {
  dnnl_status_t status = dnnl_success;
  template <typename Step> void then(Step step) {
    if (status == dnnl_success)
      status = step();
  }
};

/// A tensor in the layout that is given and in the one that oneDNN wants.
struct Operand {
  dnnl_memory_desc_t given, wanted;
  int64_t offset = 0; ///< where the copy begins in scratch
  Owned<dnnl_memory> givenMemory, wantedMemory;
  Owned<dnnl_primitive> reorder; ///< null if the given layout is the wanted one
};

class Convolution final : public OneDnnConvolution {
public:
  Convolution(const char *what, const ConvolutionSizes &sizes) : what(what), sizes(sizes) {}

  absl::Status build() {
    const onednn::OneThread alone;
    Steps steps;
    steps.then([&] { return dnnl_stream_create(ownerOf(stream), engine(), dnnl_stream_default_flags); });
    steps.then([&] { return describeOperands(); });
    steps.then([&] { return describeConvolution(); });
    for (Operand *operand : {&input, &weight, &output})
      steps.then([&] { return prepare(*operand, operand == &made()); });
    steps.then([&] { return prepareScratchpad(); });
    return onednn::statusOf(what, "convolution", steps.status);
  }

  absl::Status run(const float *first, const float *second, float *result, std::byte *scratch) override {
    const onednn::OneThread alone;
    Steps steps;
    // oneDNN takes pointers to mutable data even for what it only reads.
    const std::array<std::pair<Operand *, float *>, 3> bound = {std::pair(operands()[0], const_cast<float *>(first)),
                                                                {operands()[1], const_cast<float *>(second)},
                                                                {&made(), result}};
    for (const auto &[operand, data] : bound) {
      steps.then([&] { return bind(operand->givenMemory, data); });
      if (operand->reorder)
        steps.then([&] { return bind(operand->wantedMemory, scratch + operand->offset); });
    }
    if (scratchpadBytes > 0)
      steps.then([&] { return bind(scratchpad, scratch + scratchpadOffset); });
    for (Operand *operand : operands())
      steps.then([&] { return copy(*operand, operand->givenMemory, operand->wantedMemory); });
    steps.then([&] { return execute(); });
    steps.then([&] { return copy(made(), made().wantedMemory, made().givenMemory); });
    steps.then([&] { return dnnl_stream_wait(stream.get()); });
    return onednn::statusOf(what, "convolution", steps.status);
  }

  int64_t scratchBytes() const override { return scratchpadOffset + scratchpadBytes; }

private:
  /// Gives a C function the address for the object that it makes, and then
  /// hands the object to its owner.
  template <typename T> class OwnerOf {
  public:
    explicit OwnerOf(Owned<T> &owner) : owner(owner) {}
    ~OwnerOf() { owner.reset(made); }
    operator T **() { return &made; }

  private:
    Owned<T> &owner;
    T *made = nullptr;
  };
  template <typename T> static OwnerOf<T> ownerOf(Owned<T> &owner) { return OwnerOf<T>(owner); }

  std::array<Operand *, 2> operands() {
    switch (sizes.makes) {
    case ConvolutionMakes::Output:
      return {&input, &weight};
    case ConvolutionMakes::Input:
      return {&output, &weight};
    case ConvolutionMakes::Weight:
      return {&output, &input};
    }
    return {};
  }
  Operand &made() {
    return sizes.makes == ConvolutionMakes::Output ? output : sizes.makes == ConvolutionMakes::Input ? input : weight;
  }

  static dnnl_status_t describe(Operand &operand, const std::vector<int64_t> &extents, int64_t outerStride) {
    dnnl_dims_t dims, strides;
    int64_t stride = 1;
    for (size_t i = extents.size(); i-- > 0; stride *= extents[i]) {
      dims[i] = extents[i];
      strides[i] = i == 0 ? outerStride : stride;
    }
    const auto rank = static_cast<int>(extents.size());
    const dnnl_status_t status = dnnl_memory_desc_init_by_strides(&operand.given, rank, dims, dnnl_f32, strides);
    return status != dnnl_success
               ? status
               : dnnl_memory_desc_init_by_tag(&operand.wanted, rank, dims, dnnl_f32, dnnl_format_tag_any);
  }

  dnnl_status_t describeOperands() {
    const int64_t taps = sizes.along[0].kernel * sizes.along[1].kernel;
    std::vector<int64_t> ofWeight = {sizes.outputs, sizes.channels, sizes.along[0].kernel, sizes.along[1].kernel};
    int64_t outer = sizes.channels * taps;
    if (sizes.groups > 1) {
      ofWeight.insert(ofWeight.begin(), sizes.groups);
      outer *= sizes.outputs;
    }
    Steps steps;
    steps.then([&] {
      return describe(input, {sizes.samples, sizes.groups * sizes.channels, sizes.extents[0], sizes.extents[1]},
                      sizes.inputStride);
    });
    steps.then([&] { return describe(weight, ofWeight, outer); });
    steps.then([&] {
      return describe(output,
                      {sizes.samples, sizes.groups * sizes.outputs, sizes.along[0].windows(sizes.extents[0]),
                       sizes.along[1].windows(sizes.extents[1])},
                      sizes.outputStride);
    });
    return steps.status;
  }

  /// Makes the primitive, and takes over the layouts that it wants.
  dnnl_status_t describeConvolution() {
    dnnl_dims_t strides, dilates, padding;
    for (size_t i : {0, 1}) {
      strides[i] = sizes.along[i].stride;
      dilates[i] = sizes.along[i].dilation - 1; // oneDNN counts the elements between taps
      padding[i] = sizes.along[i].padding;
    }
    dnnl_convolution_desc_t forward, backward;
    Owned<dnnl_primitive_attr> attributes;
    Owned<dnnl_primitive_desc> ofForward, ofBackward;
    Steps steps;
    steps.then([&] { return dnnl_primitive_attr_create(ownerOf(attributes)); });
    // By default, each primitive would keep a scratchpad of its own.
    steps.then([&] { return dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user); });
    steps.then([&] {
      return dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                                        &input.wanted, &weight.wanted, nullptr, &output.wanted, strides,
                                                        dilates, padding, padding);
    });
    steps.then(
        [&] { return dnnl_primitive_desc_create(ownerOf(ofForward), &forward, attributes.get(), engine(), nullptr); });
    if (sizes.makes == ConvolutionMakes::Input)
      steps.then([&] {
        return dnnl_dilated_convolution_backward_data_desc_init(&backward, dnnl_convolution_direct, &input.wanted,
                                                                &weight.wanted, &output.wanted, strides, dilates,
                                                                padding, padding);
      });
    if (sizes.makes == ConvolutionMakes::Weight)
      steps.then([&] {
        return dnnl_dilated_convolution_backward_weights_desc_init(&backward, dnnl_convolution_direct, &input.wanted,
                                                                   &weight.wanted, nullptr, &output.wanted, strides,
                                                                   dilates, padding, padding);
      });
    if (sizes.makes != ConvolutionMakes::Output)
      steps.then([&] {
        return dnnl_primitive_desc_create(ownerOf(ofBackward), &backward, attributes.get(), engine(), ofForward.get());
      });
    const_dnnl_primitive_desc_t description = ofBackward ? ofBackward.get() : ofForward.get();
    steps.then([&] { return takeLayouts(description); });
    steps.then([&] { return dnnl_primitive_create(ownerOf(primitive), description); });
    return steps.status;
  }

  dnnl_status_t takeLayouts(const_dnnl_primitive_desc_t description) {
    const bool isOfInput = sizes.makes == ConvolutionMakes::Input, isOfWeight = sizes.makes == ConvolutionMakes::Weight,
               isForward = sizes.makes == ConvolutionMakes::Output;
    const std::array<std::pair<Operand *, dnnl_query_t>, 3> queries = {
        std::pair(&input, isOfInput ? dnnl_query_diff_src_md : dnnl_query_src_md),
        {&weight, isOfWeight ? dnnl_query_diff_weights_md : dnnl_query_weights_md},
        {&output, isForward ? dnnl_query_dst_md : dnnl_query_diff_dst_md}};
    for (const auto &[operand, query] : queries) {
      Description wanted = dnnl_primitive_desc_query_md(description, query, 0);
      if (!wanted)
        return dnnl_runtime_error;
      operand->wanted = *wanted;
    }
    Description ofScratch = dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    scratchpadBytes = ofScratch ? roundedUp(static_cast<int64_t>(dnnl_memory_desc_get_size(ofScratch))) : 0;
    return dnnl_success;
  }

  /// Makes the memory objects of an operand and, if its layouts differ, the
  /// reorder between them.
  dnnl_status_t prepare(Operand &operand, bool isMade) {
    Steps steps;
    steps.then(
        [&] { return dnnl_memory_create(ownerOf(operand.givenMemory), &operand.given, engine(), DNNL_MEMORY_NONE); });
    if (dnnl_memory_desc_equal(&operand.given, &operand.wanted))
      return steps.status;
    operand.offset = scratchpadOffset;
    scratchpadOffset += roundedUp(static_cast<int64_t>(dnnl_memory_desc_get_size(&operand.wanted)));
    steps.then(
        [&] { return dnnl_memory_create(ownerOf(operand.wantedMemory), &operand.wanted, engine(), DNNL_MEMORY_NONE); });
    Owned<dnnl_primitive_desc> description;
    Owned<dnnl_primitive_attr> attributes;
    steps.then([&] { return dnnl_primitive_attr_create(ownerOf(attributes)); });
    steps.then([&] { return dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user); });
    steps.then([&] {
      return dnnl_reorder_primitive_desc_create(ownerOf(description), isMade ? &operand.wanted : &operand.given,
                                                engine(), isMade ? &operand.given : &operand.wanted, engine(),
                                                attributes.get());
    });
    steps.then([&] {
      if (Description ofScratch = dnnl_primitive_desc_query_md(description.get(), dnnl_query_scratchpad_md, 0))
        scratchpadBytes =
            std::max(scratchpadBytes, roundedUp(static_cast<int64_t>(dnnl_memory_desc_get_size(ofScratch))));
      return dnnl_success;
    });
    steps.then([&] { return dnnl_primitive_create(ownerOf(operand.reorder), description.get()); });
    return steps.status;
  }

  /// Makes one scratchpad for all primitives, which run one after the other.
  dnnl_status_t prepareScratchpad() {
    if (scratchpadBytes == 0)
      return dnnl_success;
    dnnl_memory_desc_t bytes;
    const dnnl_dims_t extents = {scratchpadBytes};
    Steps steps;
    steps.then([&] { return dnnl_memory_desc_init_by_tag(&bytes, 1, extents, dnnl_u8, dnnl_a); });
    steps.then([&] { return dnnl_memory_create(ownerOf(scratchpad), &bytes, engine(), DNNL_MEMORY_NONE); });
    return steps.status;
  }

  dnnl_status_t bind(const Owned<dnnl_memory> &memory, void *data) {
    return dnnl_memory_set_data_handle_v2(memory.get(), data, stream.get());
  }

  dnnl_status_t copy(Operand &operand, const Owned<dnnl_memory> &from, const Owned<dnnl_memory> &to) {
    if (!operand.reorder)
      return dnnl_success;
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}, {DNNL_ARG_SCRATCHPAD, scratchpad.get()}};
    return dnnl_primitive_execute(operand.reorder.get(), stream.get(), scratchpad ? 3 : 2, arguments);
  }

  static dnnl_memory_t memoryOf(const Operand &operand) {
    return operand.reorder ? operand.wantedMemory.get() : operand.givenMemory.get();
  }

  dnnl_status_t execute() {
    const bool isOfInput = sizes.makes == ConvolutionMakes::Input, isOfWeight = sizes.makes == ConvolutionMakes::Weight,
               isForward = sizes.makes == ConvolutionMakes::Output;
    const dnnl_exec_arg_t arguments[] = {{isOfInput ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, memoryOf(input)},
                                         {isOfWeight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, memoryOf(weight)},
                                         {isForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, memoryOf(output)},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad.get()}};
    return dnnl_primitive_execute(primitive.get(), stream.get(), scratchpad ? 4 : 3, arguments);
  }

  const char *what;
  const ConvolutionSizes sizes;
  Operand input, weight, output;
  int64_t scratchpadOffset = 0, scratchpadBytes = 0;
  Owned<dnnl_stream> stream;
  Owned<dnnl_primitive> primitive;
  Owned<dnnl_memory> scratchpad;
};

} // namespace

absl::StatusOr<std::unique_ptr<OneDnnConvolution>> OneDnnConvolution::create(const char *what,
                                                                             const ConvolutionSizes &sizes) {
  if (!engine())
    return absl::UnimplementedError(
        absl::StrCat("library call '", what, "': oneDNN could not create an engine for this CPU"));
  auto convolution = std::make_unique<Convolution>(what, sizes);
  SPLITCAST_RETURN_IF_ERROR(convolution->build());
  return convolution;
}

} // namespace splitcast::runtime
