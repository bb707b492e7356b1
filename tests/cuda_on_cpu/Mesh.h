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
  std::byte *data; ///< if it is sent, it is only read
  size_t bytes;
};

/// This rank's connections to all other ranks. If `stop` is set, every wait ends with the error Cancelled.
class Mesh {
public:
  Mesh(std::string name, int rank, int size, const std::atomic<bool> &stop)
      : name(std::move(name)), rank(rank), stop(stop), sockets(size, -1) {}
  Mesh(const Mesh &) = delete;
  Mesh &operator=(const Mesh &) = delete;
  ~Mesh();

  /// Connects to all ranks of the mesh of this name; waits until they are there.
  absl::Status connect();

  /// Does all transfers at the same time; those between two ranks are done in order.
  ///   Errors  Unavailable: a peer has ended.
  absl::Status exchange(const std::vector<Transfer> &sends, const std::vector<Transfer> &receives);

private:
  absl::Status listen();
  absl::Status call(int peer);
  absl::Status accept();

  const std::string name;
  const int rank;
  const std::atomic<bool> &stop;
  int listener = -1;
  std::vector<int> sockets; ///< one per rank; -1 if there is none
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_MESH_H
