//===- Exchange.h - What a collective does to the tensors of its ranks --------===//
#ifndef SPLITCAST_TESTS_REFERENCE_EXCHANGE_H
#define SPLITCAST_TESTS_REFERENCE_EXCHANGE_H

#include "tests/reference/Wire.h"

namespace splitcast::reference {

struct Exchanged {
  std::vector<Tensor> results;    ///< by index in the group
  std::vector<int64_t> bytesSent; ///< likewise
};

/// Does a collective. `calls` are those of all ranks of the group, in its order, and agree (see Wire::start).
///   Sums    in the tree of TreeSum.h over the order of the group.
///   Bytes   all_gather: the own block to each other rank. reduce_scatter: each block but the own once. all_reduce: the
///           whole tensor to each other rank up to ccl::kSmallAllReduceBytes, else both of these on blocks of
///           sbp::pieceOf. all_to_all: each block to its rank.
Exchanged runCollective(llvm::ArrayRef<Call> calls, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_EXCHANGE_H
