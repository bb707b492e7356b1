//===- ConvolutionWorkspace.h - Scratch memory of convolutions on GPUs ----------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_CONVOLUTIONWORKSPACE_H
#define SPLITCAST_DIALECTS_EXEC_CONVOLUTIONWORKSPACE_H

#include "dialects/sbp/algebra/Sizes.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <optional>

namespace splitcast::exec {

/// Returns the bytes that cuDNN is given for a convolution of tensors with four extents each, or nothing if they are
/// more than 2^63 - 1. Ways that use tensor cores copy the tensors, with channels (the second extent) side by side and
/// rounded up to 8 of them, and keep parts of a weight's gradient: of cuDNN 9.19's first proposals for an H200, an A100
/// and a T4, asked for convolutions of ResNet, by groups, and ragged and small ones, none needs more than this.
inline std::optional<int64_t> deviceConvolutionWorkspace(const std::array<llvm::ArrayRef<int64_t>, 3> &tensors,
                                                         int64_t elementBytes) {
  constexpr int64_t kChannels = 8, kParts = int64_t{8} << 20;
  std::optional<int64_t> bytes = kParts;
  for (llvm::ArrayRef<int64_t> of : tensors) {
    const std::optional<int64_t> channels = sbp::checkedAlignUp(of[1], kChannels);
    const std::optional<int64_t> copied =
        channels ? sbp::checkedBytes({of[0], *channels, of[2], of[3]}, elementBytes) : std::nullopt;
    bytes = bytes && copied ? sbp::checkedSum(*bytes, *copied) : std::nullopt;
  }
  return bytes ? sbp::checkedAlignUp(*bytes, sbp::kAlignmentBytes) : std::nullopt;
}

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_CONVOLUTIONWORKSPACE_H
