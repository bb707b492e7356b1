//===- TcpTransport.h - Messages over TCP ------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPTRANSPORT_H
#define SPLITCAST_RUNTIME_TCP_TCPTRANSPORT_H

#include "runtime/api/Transport.h"
#include "runtime/tcp/TcpMesh.h"

namespace splitcast::runtime {

/// Returns a transport between these ranks of the mesh, numbered in this order; `self`, this rank, is among them.
/// `number`, from 1 to kMaxTransports, is the same on all of them, and no other transport has it.
std::unique_ptr<Transport> createTcpTransport(std::shared_ptr<TcpMesh> mesh, const std::vector<int64_t> &ranks,
                                              int64_t self, int64_t number);

inline constexpr int64_t kMaxTransports = 65535;

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPTRANSPORT_H
