//===- Mesh.h - Sockets between all pairs of ranks on this machine ----------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_MESH_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_MESH_H

#include "absl/status/status.h"

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace splitcast::cuda_on_cpu {

struct Transfer {
  int peer;
  std::byte *data; ///< only read when it is sent
  size_t bytes;
};

/// Every wait ends with Cancelled once `stop` is set.
class Mesh {
public:
  Mesh(std::string name, int rank, int size, const std::atomic<bool> &stop)
      : name(std::move(name)), rank(rank), stop(stop), sockets(size, -1) {}
  Mesh(const Mesh &) = delete;
  Mesh &operator=(const Mesh &) = delete;
  ~Mesh();

  /// Until all ranks of that name are there.
  absl::Status connect();

  /// All transfers, those of a pair in order. Unavailable: the peer is gone.
  absl::Status exchange(const std::vector<Transfer> &sends, const std::vector<Transfer> &receives);

private:
  absl::Status listen();
  absl::Status call(int peer);
  absl::Status accept();

  const std::string name;
  const int rank;
  const std::atomic<bool> &stop;
  int listener = -1;
  std::vector<int> sockets; ///< by peer
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_MESH_H
