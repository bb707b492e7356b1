//===- Exchange.h - Computes collectives on the tensors of their ranks --------===//
#ifndef SPLITCAST_TESTS_REFERENCE_EXCHANGE_H
#define SPLITCAST_TESTS_REFERENCE_EXCHANGE_H

#include "tests/reference/Wire.h"

namespace splitcast::reference {

struct Exchanged {
  std::vector<Tensor> results;    ///< one per rank, by its index in the group
  std::vector<int64_t> bytesSent; ///< one per rank, by its index in the group
};

/// Computes a collective. `calls` are those of all ranks of the group, in its order. They must agree (see Wire::start).
///   Sums    are computed in the tree of TreeSum.h, in the order of the group.
///   Bytes   are counted where a rank gets elements of another rank; dialects/ccl/algebra/Traffic.h says which.
Exchanged runCollective(llvm::ArrayRef<Call> calls, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_EXCHANGE_H
