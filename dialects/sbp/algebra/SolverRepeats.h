//===- SolverRepeats.h - What is computed again has the rows of what was computed first ---===//
//
// Recomputation computes values again that are needed later. Were the rows of these ops chosen like those of others,
// they would depend on what is known at another place of the program (what was boxed already, what exists, what is
// wanted later), and so would the rows of the ops that use them: recomputation would change where sums are cut, and so
// bits. Therefore the choosers see a problem without repeats.
//
//   %h = tanh %x        %g = matmul %dy, %h                 what the choosers see
//   %f = fence %x       %k = tanh %f     %r = matmul %dy, %k     only in the program: %k is as %h, and %r as %g
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERREPEATS_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERREPEATS_H

#include "dialects/sbp/algebra/Solver.h"

namespace splitcast::sbp::solver {

/// Solves the problem without its repeats, and gives each repeat the row of its original. An op is a repeat of the op
/// whose results are, in order, the first tensors of the elements that its own results have
/// (TensorInfo::sameElements). A use of a tensor is a use of the first tensor of its elements.
///
/// `choose` is called once, with a problem in which no tensor has sameElements. It fails as `choose` fails. The score
/// is that of the whole problem.
Solution onOriginals(const Problem &problem, Solution (*choose)(const Problem &));

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERREPEATS_H
