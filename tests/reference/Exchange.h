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
///   Bytes   are counted where a rank gets elements of another's; dialects/ccl/algebra/Traffic.h says which these are.
Exchanged runCollective(llvm::ArrayRef<Call> calls, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_EXCHANGE_H
