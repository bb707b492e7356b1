//===- PeerMemory.h - Ranks of one machine read each other's memory ----------------===//
//
// The tensors of a rank lie in memory that other ranks of the machine map (HostMemory.h) and read like their own. The
// owner need not be in any call for that, and nothing is copied in between. But the processes must belong to one user
// and see each other (one /proc, one namespace of process numbers). So ranks try it, and where it fails, messages carry
// everything.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PULL_PEERMEMORY_H
#define SPLITCAST_RUNTIME_PULL_PEERMEMORY_H

#include "runtime/api/Communicator.h"
#include "runtime/api/SharedMemory.h"
#include "runtime/host/HostMemory.h"

#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

class PeerMemory {
  struct MappedFile;

public:
  /// Bytes of another rank, which may be read while this object exists.
  class View {
  public:
    View(std::shared_ptr<MappedFile> file, int64_t offset, int64_t bytes);
    ~View();
    View(const View &) = delete;
    View &operator=(const View &) = delete;
    /// Returns the bytes. From the first call on, their pages count as this process's memory (ViewedMemory.h) until the
    /// view ends; of each file, the last page that was read (2 MiB if it is a huge one) stays mapped and counted.
    const std::byte *data();

  private:
    std::shared_ptr<MappedFile> file;
    int64_t offset, bytes;
    bool isRead = false;
  };

  /// Finds out which ranks can read each other. All ranks call it at the same point. A rank whose `isWanted` is false
  /// neither reads nor is read.
  ///   Errors  those of Communicator::exchange.
  static absl::StatusOr<std::shared_ptr<PeerMemory>> connect(Communicator &ranks, bool isWanted);

  ~PeerMemory();

  /// Return whether this rank reads the memory of `rank`, and whether `rank` reads this rank's. Both ranks give
  /// matching answers.
  bool reads(int64_t rank) const { return peers[rank].isRead; }
  bool isReadBy(int64_t rank) const { return peers[rank].isReader; }
  /// Returns a message for the user: why ranks of one machine that want to read each other do not. It is empty if all
  /// do.
  const std::string &whatFailed() const { return failure; }

  /// Returns the memory in which this rank's tensors must lie. It is shared if any other rank reads it.
  const std::shared_ptr<HostMemory> &memory() const { return own; }

  /// Returns bytes of a rank that this one reads. The file is mapped when it is first asked for, and stays mapped until
  /// this rank itself releases memory.
  ///   Errors  Unavailable: that process is gone, or has released that memory. ResourceExhausted: this process has no
  ///           room to map it. InvalidArgument: not all of the bytes lie in the allocation that `place` names.
  absl::StatusOr<std::unique_ptr<View>> view(int64_t rank, const SharedPlace &place, int64_t bytes);

  /// Creates zeroed memory of this rank, which has no pages yet, and sets `place` to a text by which others join it.
  /// Requires that some rank reads this one.
  ///   Errors  ResourceExhausted: the system gives no such memory, or none that processes can share.
  absl::StatusOr<std::unique_ptr<SharedMemory>> create(int64_t bytes, std::string &place);
  /// Maps memory that `rank`, which this rank reads, has created. This rank may write it, too.
  ///   Errors  those of view(); InvalidArgument: `place` is no such text, or its memory has fewer bytes.
  absl::StatusOr<std::unique_ptr<SharedMemory>> join(int64_t rank, const std::string &place, int64_t bytes);

private:
  struct Peer {
    int64_t process = 0;
    SharedPlace mark; ///< where it keeps a random number, which proves that it is the expected process
    bool isRead = false, isReader = false;
  };

  PeerMemory();
  absl::Status introduce(Communicator &ranks, bool isWanted);
  absl::Status compareNotes(Communicator &ranks);
  absl::Status recognize(int64_t rank, uint64_t expected);

  std::shared_ptr<HostMemory> own;
  std::vector<Peer> peers;
  std::vector<uint64_t> marks; ///< by rank, as they were exchanged
  std::string failure;

  std::mutex mutex;
  std::map<std::pair<int64_t, uint64_t>, std::shared_ptr<MappedFile>> views; ///< by rank and file
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PULL_PEERMEMORY_H
