//===- CountingMpi.h - Counts what this process sends with MPI -------------===//
//
// If a test is linked to it, it replaces MPI_Isend with MPI's profiling interface: it counts each call, and calls the
// real function. It also replaces the other functions that send, and counts them separately, since the transport must
// not use them.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_COUNTINGMPI_H
#define SPLITCAST_TESTS_RUNTIME_MPI_COUNTINGMPI_H

#include "dialects/ccl/algebra/Traffic.h"

namespace splitcast::runtime {

/// The bytes and messages that this process has passed to MPI_Isend so far. Headers are not among them.
ccl::Traffic sentOverMpi();
/// The number of calls of MPI_Send and of MPI's collectives so far, except for those that create communicators.
int64_t otherMpiCalls();

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_MPI_COUNTINGMPI_H
