//===- OneDnnConvolution.h - A convolution of f32 by oneDNN, on one thread -----------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNCONVOLUTION_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNCONVOLUTION_H

#include "dialects/exec/Window.h"

#include "absl/status/statusor.h"

#include <array>
#include <cstddef>
#include <memory>

namespace splitcast::runtime {

/// Which of the three tensors is made of the other two.
enum class ConvolutionMakes { Output, Input, Weight };

/// In elements; each at least 1. Samples lie apart by strides, all else is dense: input [samples, groups x channels,
/// extents], weight [groups x outputs, channels, kernel], output [samples, groups x outputs, windows].
struct ConvolutionSizes {
  ConvolutionMakes makes = ConvolutionMakes::Output;
  int64_t samples = 1, groups = 1, channels = 1, outputs = 1; ///< channels and outputs of a group
  std::array<int64_t, 2> extents = {1, 1};
  std::array<exec::Window, 2> along;
  int64_t inputStride = 1, outputStride = 1; ///< from a sample to the next

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

  /// what: the library call, for errors.
  ///   Errors  as oneDNN's; Unimplemented where it has no engine.
  static absl::StatusOr<std::unique_ptr<OneDnnConvolution>> create(const char *what, const ConvolutionSizes &sizes);

  /// Operands in the call's order (#exec.convolution). `scratch` has scratchBytes, aligned to 64 bytes. On one thread
  /// at a time.
  virtual absl::Status run(const float *first, const float *second, float *made, std::byte *scratch) = 0;
  virtual int64_t scratchBytes() const = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNCONVOLUTION_H
