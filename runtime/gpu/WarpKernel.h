//===- WarpKernel.h - Source of a kernel with a warp per row --------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_WARPKERNEL_H
#define SPLITCAST_RUNTIME_GPU_WARPKERNEL_H

#include <cstdint>
#include <string>

namespace splitcast::runtime {

inline constexpr int64_t kWarpLanes = 32;

/// A func.func that launches a warp for each of `rows` rows. The body, MLIR text, knows %row, %lane and %lanes (32).
std::string warpKernel(const std::string &name, const std::string &arguments, int64_t rows, const std::string &body);

/// Text that makes %NAME of what each lane has as %NAME_lane, by an op on two values.
std::string acrossLanes(const std::string &name, const std::string &op, const std::string &type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_WARPKERNEL_H
