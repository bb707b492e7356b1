//===- OneDnnConvolution.h - An f32 convolution with oneDNN, on one thread -----------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNCONVOLUTION_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNCONVOLUTION_H

#include "dialects/exec/Window.h"

#include "absl/status/statusor.h"

#include <array>
#include <cstddef>
#include <memory>

namespace splitcast::runtime {

/// Which of the three tensors (or their gradients) is computed from the other two.
enum class ConvolutionMakes { Output, Input, Weight };

/// The sizes of a convolution, in elements; each is at least 1. Strides separate the samples, and all else is dense:
/// input [samples, groups x channels, extents], weight [groups x outputs, channels, kernel], output [samples,
/// groups x outputs, windows].
struct ConvolutionSizes {
  ConvolutionMakes makes = ConvolutionMakes::Output;
  int64_t samples = 1, groups = 1, channels = 1, outputs = 1; ///< channels and outputs count one group's
  std::array<int64_t, 2> extents = {1, 1};
  std::array<exec::Window, 2> along;
  int64_t inputStride = 1, outputStride = 1; ///< from one sample to the next

  int64_t inputOfSample() const { return groups * channels * extents[0] * extents[1]; }
  int64_t outputOfSample() const {
    return groups * outputs * along[0].windows(extents[0]) * along[1].windows(extents[1]);
  }
  int64_t weightElements() const { return groups * outputs * channels * along[0].kernel * along[1].kernel; }
  double flops() const {
    return 2.0 * static_cast<double>(samples) * static_cast<double>(outputOfSample()) * static_cast<double>(channels) *
           static_cast<double>(along[0].kernel * along[1].kernel);
  }
};

class OneDnnConvolution {
public:
  virtual ~OneDnnConvolution() = default;

  /// Prepares the convolution. `what` is the library call's name, for error messages.
  ///   Errors  those of oneDNN; Unimplemented if oneDNN has no engine.
  static absl::StatusOr<std::unique_ptr<OneDnnConvolution>> create(const char *what, const ConvolutionSizes &sizes);

  /// Computes `made` from the other two operands, which are in the order of #exec.convolution. `scratch` has
  /// scratchBytes() bytes and is aligned to 64 bytes. Only one thread at a time may call it.
  virtual absl::Status run(const float *first, const float *second, float *made, std::byte *scratch) = 0;
  virtual int64_t scratchBytes() const = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNCONVOLUTION_H
