//===- TcpTransport.h - Messages over TCP ------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPTRANSPORT_H
#define SPLITCAST_RUNTIME_TCP_TCPTRANSPORT_H

#include "runtime/api/Transport.h"
#include "runtime/tcp/TcpMesh.h"

namespace splitcast::runtime {

/// Of these ranks of the mesh, among them `self`, in this order. `number`, from 1 to kMaxTransports, is the same on all
/// of them and no other's.
std::unique_ptr<Transport> createTcpTransport(std::shared_ptr<TcpMesh> mesh, const std::vector<int64_t> &ranks,
                                              int64_t self, int64_t number);

inline constexpr int64_t kMaxTransports = 65535;

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPTRANSPORT_H
