//===- PipelineOrder.h - In which order stages of a pipeline work ----------===//
//
// A step in micro-batches whose layers lie at ranks of one axis is a set of blocks: what one rank does of a micro-batch
// between two moves of it from rank to rank. A schedule is an order of all blocks, in which each comes after those that
// it needs; each rank does its own of them in this order, and so all ranks start the moves alike, whatever waits.
//
// 3 stages, 4 micro-batches, F and B one block each but at the last stage, where no move is between them:
//
//   sequential   each micro-batch when the one before it is done
//   gpipe        forward of all, then backward of all (Huang et al. 2019)
//   1f1b         stage k begins 3 - k micro-batches, then one for each that it ends (Narayanan et al. 2019): as long,
//                with activations of no more than that many
//
//   stage 0   F1 F2 F3 .. .. B1 F4 .. B2 .. .. B3 .. B4
//   stage 1      F1 F2 .. B1 F3 B2 F4 .. B3 .. B4
//   stage 2         FB1   FB2   FB3   FB4
//
// Where a rank has layers of several places of the chain, v stages of the pipeline, a micro-batch comes by as many
// times (interleaved, Narayanan et al. 2021), in a fixed order if K divides M. With costs of F and B that are the same
// everywhere, M micro-batches and K ranks, a rank idles for (K - 1) / (v M) of what it works.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_PIPELINEORDER_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_PIPELINEORDER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitcast::sbp {

enum class PipelineSchedule { Sequential, Gpipe, OneForwardOneBackward };

/// "sequential", "gpipe" or "1f1b".
std::string toString(PipelineSchedule schedule);
std::optional<PipelineSchedule> parsePipelineSchedule(std::string_view text);

/// What a rank does of a micro-batch after `hop` moves of it.
struct PipelineBlock {
  int64_t microBatch = 0;
  int64_t hop = 0;
  int64_t rank = -1;      ///< along the axis; -1: all do it
  int64_t cost = 0;       ///< in any unit of time
  std::vector<int> needs; ///< numbers of blocks
};

struct PipelineOrder {
  std::vector<int> blocks; ///< all, each after those that it needs
  int64_t time = 0;        ///< until all are done, each begun when its rank and what it needs are ready
  /// By rank, of how many micro-batches it held activations at once: it had begun them, and had blocks of them to do.
  std::vector<int64_t> mostBegun;
};

/// Requires that what blocks need has no cycle. Time grows with the blocks and what they need, times the ranks.
PipelineOrder orderPipeline(const std::vector<PipelineBlock> &blocks, int64_t ranks, PipelineSchedule schedule);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_PIPELINEORDER_H
