//===- ArenaPlanner.h - Offsets of buffers in the arena ----------------------===//
#ifndef SPLITCAST_PASSES_PLAN_ARENAPLANNER_H
#define SPLITCAST_PASSES_PLAN_ARENAPLANNER_H

#include "dialects/exec/Role.h"

#include <cstdint>
#include <string>
#include <vector>

namespace splitcast {

/// A buffer that is live at the points [begin, end] of a program, both included.
struct ArenaBuffer {
  int64_t bytes = 0;
  int64_t begin = 0;
  int64_t end = 0;
  exec::Role role = exec::Role::Activation;
  int64_t offset = 0; ///< set by planArena: a multiple of sbp::kAlignmentBytes
  std::string owner;  ///< see exec::BufferAttr
};

/// Returns the most bytes, each buffer aligned, that are live at one point: no arena is smaller.
int64_t liveBytes(const std::vector<ArenaBuffer> &buffers);

/// Gives every buffer an offset so that buffers that are live at the same time do not overlap. Returns the bytes of the
/// arena; as a rule these are liveBytes.
int64_t planArena(std::vector<ArenaBuffer> &buffers);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_ARENAPLANNER_H
