//===- PeerMemory.h - What ranks of one machine read of each other -----------------===//
//
// The tensors of a rank lie in memory that others of the machine map (HostMemory.h), and read as their own: nobody need
// be in any call for it, and nothing is copied in between. The price: the processes must be of one user and see each
// other (one /proc, one space of process numbers); so it is tried, and where it fails, messages carry everything.
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
  /// Bytes of another rank, which may be read while it lives.
  class View {
  public:
    View(std::shared_ptr<MappedFile> file, int64_t offset, int64_t bytes);
    ~View();
    View(const View &) = delete;
    View &operator=(const View &) = delete;
    /// From the first call on its pages count as this process's, and the last 2 MiB of a file that were read.
    const std::byte *data();

  private:
    std::shared_ptr<MappedFile> file;
    int64_t offset, bytes;
    bool isRead = false;
  };

  /// All ranks call it at the same point. Who does not want it neither reads nor is read.
  ///   Errors  those of Communicator::exchange.
  static absl::StatusOr<std::shared_ptr<PeerMemory>> connect(Communicator &ranks, bool isWanted);

  ~PeerMemory();

  /// Whether this rank reads `rank`, and whether it is read by it: both ends know the same.
  bool reads(int64_t rank) const { return peers[rank].isRead; }
  bool isReadBy(int64_t rank) const { return peers[rank].isReader; }
  /// Why ranks of one machine that want to do not read each other, for a person; empty: all do.
  const std::string &whatFailed() const { return failure; }

  /// Where this rank's tensors are to lie: shared, if any other reads it.
  const std::shared_ptr<HostMemory> &memory() const { return own; }

  /// Of a rank that this one reads. The file is mapped when it is first asked for, and stays so until this rank
  /// releases memory itself.
  ///   Errors  Unavailable: that process is gone, or has released that memory. ResourceExhausted: this one has no room.
  absl::StatusOr<std::unique_ptr<View>> view(int64_t rank, const SharedPlace &place, int64_t bytes);

  /// Zeroed memory of this rank that others join by `place`; it has no pages yet. Some rank reads this one.
  ///   Errors  ResourceExhausted: the system gives none, or none that is shared.
  absl::StatusOr<std::unique_ptr<SharedMemory>> create(int64_t bytes, std::string &place);
  /// What a rank that this one reads has created, to be written by this one, too.
  ///   Errors  as view; InvalidArgument: `place` is no such text.
  absl::StatusOr<std::unique_ptr<SharedMemory>> join(int64_t rank, const std::string &place, int64_t bytes);

private:
  struct Peer {
    int64_t process = 0;
    SharedPlace mark; ///< where it keeps a number drawn at random
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
