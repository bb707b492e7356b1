//===- TransportModel.h - What a boxing costs on a transport ---------------===//
//
// dialects/sbp/algebra/Boxing.h knows volumes: what no algorithm can send less of. What a boxing costs beyond that, and
// what a transport sends in excess to save rounds, is data here. The solver of signatures takes it as its cost where
// variables are as they are stored; with any model the program computes the same bits (Solver.h, solveInPhases).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_ALGEBRA_TRANSPORTMODEL_H
#define SPLITCAST_DIALECTS_CCL_ALGEBRA_TRANSPORTMODEL_H

#include "dialects/ccl/algebra/Traffic.h"
#include "dialects/sbp/algebra/Boxing.h"

#include <string_view>

namespace splitcast::ccl {

/// The default is that of the communicators here, which count bytes alone.
struct TransportModel {
  /// An all-reduce of at most so many bytes takes one round, in which whole tensors are sent.
  int64_t smallAllReduceBytes = kSmallAllReduceBytes;
  /// What waiting for a round costs, in bytes that could be sent in that time.
  int64_t roundBytes = 0;
  /// What a rank computes while it receives a byte, and while it waits for a collective to begin, in FLOPs: of a core
  /// that does 50 GFLOP/s, and receives 2.5 GB/s 20 us after it has asked.
  double flopsPerByte = 20, flopsPerCollective = 1e6;

  /// That of the device's communicators, "cpu" or "cuda".
  static TransportModel of(std::string_view device);

  /// Bytes that a rank sends for the step, the largest over all ranks.
  int64_t stepBytes(const sbp::BoxingStep &step, const sbp::Shape &shape, int64_t elementBytes,
                    const sbp::Placement &placement) const;

  /// The bytes, and what the rounds cost in which any rank sends one.
  int64_t stepCost(const sbp::BoxingStep &step, const sbp::Shape &shape, int64_t elementBytes,
                   const sbp::Placement &placement) const;

  /// Sum of stepCost over the plan.
  sbp::BoxingCost boxingCost() const;
};

} // namespace splitcast::ccl

#endif // SPLITCAST_DIALECTS_CCL_ALGEBRA_TRANSPORTMODEL_H
