//===- TransportModel.h - The cost of a boxing on a transport ---------------===//
//
// dialects/sbp/algebra/Boxing.h computes volumes, which are the fewest bytes that any algorithm can send. This model
// has the further costs of a boxing, and what a transport sends beyond the volume to save rounds. The solver uses it as
// its cost when updates have the signatures in which variables are stored; with any model the program computes the same
// bits (Solver.h, solveInPhases).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_ALGEBRA_TRANSPORTMODEL_H
#define SPLITCAST_DIALECTS_CCL_ALGEBRA_TRANSPORTMODEL_H

#include "dialects/ccl/algebra/Traffic.h"
#include "dialects/sbp/algebra/Boxing.h"

#include <string_view>

namespace splitcast::ccl {

/// The default is the model of Splitcast's own communicators, which counts only bytes.
struct TransportModel {
  /// An all-reduce of at most so many bytes takes one round, in which ranks send whole tensors.
  int64_t smallAllReduceBytes = kSmallAllReduceBytes;
  /// The cost of waiting for a round, as the bytes that could be sent in that time.
  int64_t roundBytes = 0;
  /// The FLOPs that a rank computes while it receives a byte, and while it waits for a collective to begin. They are
  /// those of a core that computes 50 GFLOP/s, and that receives 2.5 GB/s, beginning 20 us after its request.
  double flopsPerByte = 20, flopsPerCollective = 1e6;

  /// Returns the model of a device's communicators; the device is "cpu" or "cuda".
  static TransportModel of(std::string_view device);

  /// Returns the most bytes that any rank sends for the step.
  int64_t stepBytes(const sbp::BoxingStep &step, const sbp::Shape &shape, int64_t elementBytes,
                    const sbp::Placement &placement) const;

  /// Returns the bytes of the step plus the cost of its rounds, of which only those count in which some rank sends.
  int64_t stepCost(const sbp::BoxingStep &step, const sbp::Shape &shape, int64_t elementBytes,
                   const sbp::Placement &placement) const;

  /// Returns the cost function that sums stepCost over the steps of planBoxing.
  sbp::BoxingCost boxingCost() const;
};

} // namespace splitcast::ccl

#endif // SPLITCAST_DIALECTS_CCL_ALGEBRA_TRANSPORTMODEL_H
