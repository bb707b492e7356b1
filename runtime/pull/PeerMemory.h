//===- PeerMemory.h - What ranks of one machine read of each other -----------------===//
//
// A rank copies from the memory of another process (process_vm_readv), which need not be in any call for it. So nothing
// has to lie in memory that processes share: no file, nothing that a killed job leaves behind, huge pages as before,
// and each page counts once, at its owner. The price: the system must permit it, which containers may not (as for a
// debugger: one user, and no filter of system calls); so it is tried, and where it fails, messages carry everything.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PULL_PEERMEMORY_H
#define SPLITCAST_RUNTIME_PULL_PEERMEMORY_H

#include "runtime/api/Communicator.h"

#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

class PeerMemory {
public:
  /// All ranks call it at the same point. Who does not want it neither reads nor is read.
  ///   Errors  those of Communicator::exchange.
  static absl::StatusOr<std::shared_ptr<PeerMemory>> connect(Communicator &ranks, bool isWanted);

  /// Whether this rank reads `rank`, and whether it is read by it: both ends know the same.
  bool reads(int64_t rank) const { return peers[rank].isRead; }
  bool isReadBy(int64_t rank) const { return peers[rank].isReader; }
  /// Why ranks of one machine that want to do not read each other, for a person; empty: all do.
  const std::string &whatFailed() const { return failure; }

  /// Copies from `address` of a rank that this one reads.
  ///   Errors  Unavailable: that process is gone, or is no longer the one that was connected.
  absl::Status read(int64_t rank, std::byte *to, uint64_t address, int64_t bytes) const;

private:
  struct Peer {
    int64_t process = 0;
    uint64_t markAddress = 0, mark = 0; ///< where its mark lies, and what it is
    bool isRead = false, isReader = false;
  };

  PeerMemory() = default;
  absl::Status introduce(Communicator &ranks, bool isWanted);
  absl::Status compareNotes(Communicator &ranks);

  uint64_t mark = 0; ///< drawn at random: a process that has it where the rank's lies is that rank
  std::vector<Peer> peers;
  std::string failure;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PULL_PEERMEMORY_H
