//===- MpiTransport.h - Messages over MPI ----------------------------------===//
//
// Transport.h over MPI_Isend, MPI_Irecv and MPI_Test on a communicator of its own. MPI_Init and what ends a job are in
// MpiRuntime.h, which is where transports come from.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_MPI_MPITRANSPORT_H
#define SPLITCAST_RUNTIME_MPI_MPITRANSPORT_H

#include "runtime/api/Transport.h"

#include <mpi.h>

namespace splitcast::runtime {

/// What the MPI of this process has come to; shared by all that use it.
struct MpiState {
  bool finalized = false;
  /// Set when a message was given up that MPI may still be working on: MPI_Finalize would then wait for its peer.
  bool gaveUp = false;
};

/// Transport on `communicator`, which it owns and whose errors it sets to be returned.
///   Lifetime   destroyed before MPI_Finalize; what outlives it only frees its memory.
///   Errors     of a message: Unavailable with MPI's text; InvalidArgument when one of another length arrived.
std::unique_ptr<Transport> createMpiTransport(MPI_Comm communicator, std::shared_ptr<MpiState> state);

/// The transport of a process that runs alone: no peers, no MPI.
std::unique_ptr<Transport> createSingleTransport();

/// Unavailable with `what` and MPI's text, or OK for MPI_SUCCESS.
absl::Status mpiStatus(int code, const char *what);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_MPI_MPITRANSPORT_H
