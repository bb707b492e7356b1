//===- HostMemory.h - Large, page-aligned allocations ------------------------===//
//
// Memory that other processes of the machine are to read lies in files that only exist as open descriptors
// (memfd_create): nothing of them is left when the processes have ended, however they ended, no file system has to have
// room for them, and their pages are their owner's.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H
#define SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H

#include "runtime/api/Device.h"

#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace splitcast::runtime {

struct HostMemoryOptions {
  /// An inaccessible page follows the last byte of each allocation: a kernel that runs past its buffer dies there. The
  /// end is then aligned to a page, and the beginning only as far as its size allows. Such memory is never shared.
  bool guardPages = false;
  /// Other processes of this user may map what is allocated. Where the system gives no such memory, it is private.
  bool isShared = false;
};

/// Where bytes lie for another process of the machine.
struct SharedPlace {
  int64_t file = -1;     ///< a descriptor of their owner
  uint64_t identity = 0; ///< the file's inode: no other has it while it lives
  int64_t fileBytes = 0;
  int64_t offset = 0; ///< bytes from the file's beginning
};

/// Memory mapped from the system. Private memory gets its pages when they are first touched, shared memory at once.
/// Safe to use from several threads.
class HostMemory {
public:
  explicit HostMemory(const HostMemoryOptions &options) : options(options) {}
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  /// Aligned to 4096 bytes, from 2 MiB on to 2 MiB and in huge pages where the system has them. 0 bytes are legal.
  ///   Ownership  this object's, until release or its own end.
  ///   Errors     InvalidArgument: a negative size. ResourceExhausted: names the bytes asked for.
  absl::StatusOr<Buffer> allocate(int64_t bytes);
  /// Gets shared memory that allocate returned its pages, huge ones where the system has them: untouched it would get
  /// small ones. Nothing is done about other memory.
  ///   Errors  ResourceExhausted: the system has not so much, which would else end the process once it writes there.
  absl::Status populate(Buffer buffer);
  void release(Buffer buffer);

  /// Nothing: not all of the bytes lie in one shared allocation of this object.
  std::optional<SharedPlace> find(const std::byte *data, int64_t bytes) const;

  /// `listener` is called, with no lock held, after each release. Set before the first.
  void onRelease(std::function<void()> listener) { released = std::move(listener); }

private:
  struct Mapping {
    std::byte *address;
    size_t bytes;
    int file = -1;
    uint64_t identity = 0;
  };

  std::optional<Mapping> map(size_t bytes) const;
  absl::StatusOr<Buffer> allocateGuarded(int64_t bytes);
  static void unmap(const Mapping &mapping);

  const HostMemoryOptions options;
  std::function<void()> released;
  mutable std::mutex mutex;
  std::map<const std::byte *, Mapping> mappings; ///< by the address that was given out
};

/// Gets memory that mapFile has mapped for writing its pages, as populate does. False: the system has not so much.
bool populateFile(void *data, size_t bytes);

/// Maps a file from its beginning, in such a place that huge pages fit; null: the system gave no room.
void *mapFile(int file, size_t bytes, int protection);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H
