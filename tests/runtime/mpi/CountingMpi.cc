#include "tests/runtime/mpi/CountingMpi.h"

#include "runtime/mpi/MpiTransport.h"

#include <cstring>
#include <mpi.h>

namespace {

splitcast::ccl::Traffic sent;
int64_t others = 0;

/// What a call of MPI_Isend sends besides headers (MpiTransport.h): of a header that goes ahead, nothing.
splitcast::ccl::Traffic payloadOf(const void *data, int64_t bytes, MPI_Datatype type) {
  if (type != MPI_UNSIGNED_CHAR)
    return {bytes, 1};
  splitcast::runtime::MpiHeader header;
  std::memcpy(&header, data, sizeof(header));
  const int64_t within = bytes - static_cast<int64_t>(sizeof(header));
  return within == header.bytes ? splitcast::ccl::Traffic{within, 1} : splitcast::ccl::Traffic();
}

} // namespace

namespace splitcast::runtime {
ccl::Traffic sentOverMpi() { return sent; }
int64_t otherMpiCalls() { return others; }
} // namespace splitcast::runtime

extern "C" {

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator,
              MPI_Request *request) {
  int typeBytes = 0;
  PMPI_Type_size(type, &typeBytes);
  sent += payloadOf(data, static_cast<int64_t>(count) * typeBytes, type);
  return PMPI_Isend(data, count, type, to, tag, communicator, request);
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator) {
  ++others;
  return PMPI_Send(data, count, type, to, tag, communicator);
}

int MPI_Barrier(MPI_Comm communicator) {
  ++others;
  return PMPI_Barrier(communicator);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm communicator) {
  ++others;
  return PMPI_Allreduce(from, to, count, type, op, communicator);
}

int MPI_Allgatherv(const void *from, int sends, MPI_Datatype sendType, void *to, const int *receives,
                   const int *offsets, MPI_Datatype receiveType, MPI_Comm communicator) {
  ++others;
  return PMPI_Allgatherv(from, sends, sendType, to, receives, offsets, receiveType, communicator);
}

} // extern "C"
