//===- CountingMpi.h - What this process has handed to MPI -----------------===//
//
// Linked into a test, it takes the place of MPI_Isend by way of MPI's profiling interface, counts, and calls the real
// one. The other ways to send are taken too, and counted apart: the transport uses none of them.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_COUNTINGMPI_H
#define SPLITCAST_TESTS_RUNTIME_MPI_COUNTINGMPI_H

#include "dialects/ccl/algebra/Traffic.h"

namespace splitcast::runtime {

/// Bytes and messages given to MPI_Isend by this process so far.
ccl::Traffic sentOverMpi();
/// Calls of MPI_Send and of MPI's own collectives so far, save those that make communicators.
int64_t otherMpiCalls();

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_MPI_COUNTINGMPI_H
