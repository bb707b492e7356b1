//===- MpiTransport.h - Messages over MPI ----------------------------------===//
//
// This implements Transport.h with MPI_Isend, MPI_Irecv and MPI_Test; each transport has an MPI communicator of its
// own. MpiRuntime.h starts MPI, ends the job and makes the transports.
//
// MPI has no place for a frame. So a message of up to kInlineBytes is sent as one, of type MPI_UNSIGNED_CHAR, with an
// MpiHeader in front. A longer one is sent where it lies, as MPI_BYTE, and its header goes ahead in a message of its
// own, of which the sender and the receiver wait for nothing more.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_MPI_MPITRANSPORT_H
#define SPLITCAST_RUNTIME_MPI_MPITRANSPORT_H

#include "runtime/api/Transport.h"

#include <mpi.h>

namespace splitcast::runtime {

/// The state of MPI in this process, which all that use MPI share.
struct MpiState {
  bool finalized = false; ///< whether MPI may no longer be called
  /// Whether a message was given up on which MPI may still be working. MPI_Finalize would then wait for its peer.
  bool gaveUp = false;
};

/// What goes ahead of each message: 32 bytes.
struct MpiHeader {
  Frame frame;
  int64_t bytes = 0; ///< of the message that follows
};

/// Messages of up to this many bytes are copied behind their header. MPI sends the whole of that eagerly, in one
/// packet.
inline constexpr int64_t kInlineBytes = 3968;

/// Returns a transport on `communicator`. It owns the communicator, and makes MPI return errors instead of aborting.
///   Lifetime   It should be destroyed before MPI_Finalize. If it outlives MPI, it only frees its own memory.
///   Errors     A message fails with Unavailable and MPI's text, or with InvalidArgument if one of another length
///              arrived.
std::unique_ptr<Transport> createMpiTransport(MPI_Comm communicator, std::shared_ptr<MpiState> state);

/// Returns the transport of a process that runs alone, without peers and without MPI.
std::unique_ptr<Transport> createSingleTransport();

/// Returns OK for MPI_SUCCESS, otherwise Unavailable with `what` and MPI's text.
absl::Status mpiStatus(int code, const char *what);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_MPI_MPITRANSPORT_H
