//===- PipelineOrder.h - The order in which the stages of a pipeline work ----------===//
//
// A step in micro-batches whose layers lie at ranks of one axis is a set of blocks. A block is what one rank computes
// of a micro-batch between two moves of the micro-batch from rank to rank. A schedule is an order of all blocks in
// which each comes after those that it needs. Each rank runs its own blocks in this order; so all ranks start the moves
// in the same order, whatever has to wait.
//
// An example has 3 stages and 4 micro-batches. F and B are one block each, except at the last stage, where there is no
// move between them:
//
//   sequential   each micro-batch begins when the one before it is done
//   gpipe        forward of all, then backward of all (Huang et al. 2019)
//   1f1b         stage k begins 3 - k micro-batches, then one for each that it ends (Narayanan et al. 2019): as long,
//                with activations of no more than that many
//
//   stage 0   F1 F2 F3 .. .. B1 F4 .. B2 .. .. B3 .. B4
//   stage 1      F1 F2 .. B1 F3 B2 F4 .. B3 .. B4
//   stage 2         FB1   FB2   FB3   FB4
//
// A rank may have layers from several places of the chain, v stages of the pipeline; a micro-batch then comes to it v
// times (interleaved, Narayanan et al. 2021), in a fixed order if K divides M. With costs of F and B that are the same
// everywhere, M micro-batches and K ranks, the idle time of a rank is (K - 1) / (v M) of its working time.
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

/// Returns "sequential", "gpipe" or "1f1b".
std::string toString(PipelineSchedule schedule);
std::optional<PipelineSchedule> parsePipelineSchedule(std::string_view text);

/// What a rank computes of a micro-batch after `hop` moves of it.
struct PipelineBlock {
  int64_t microBatch = 0;
  int64_t hop = 0;
  int64_t rank = -1;      ///< along the axis; -1: all ranks run it
  int64_t cost = 0;       ///< in any unit of time
  std::vector<int> needs; ///< numbers of the blocks that come before it
};

struct PipelineOrder {
  std::vector<int> blocks; ///< all blocks, each after those that it needs
  int64_t time = 0; ///< until all are done; each begins when its rank is free and the blocks that it needs are done
  /// Per rank, the largest number of micro-batches whose activations it held at once: it had begun them, and still had
  /// blocks of them to run.
  std::vector<int64_t> mostBegun;
};

/// Orders the blocks. Requires that their needs have no cycle. The time that this takes grows with the number of blocks
/// and needs, times the ranks.
PipelineOrder orderPipeline(const std::vector<PipelineBlock> &blocks, int64_t ranks, PipelineSchedule schedule);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_PIPELINEORDER_H
