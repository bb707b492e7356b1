//===- HostMemory.h - Large, page-aligned allocations ------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H
#define SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H

#include "runtime/api/Device.h"

#include <map>
#include <mutex>

namespace splitcast::runtime {

/// Memory mapped from the system, page by page when it is first touched. Safe to use from several threads.
class HostMemory {
public:
  /// With guard pages, an inaccessible page follows the last byte of each allocation: a kernel that runs past its
  /// buffer dies there. The end is then aligned to a page, and the beginning only as far as its size allows.
  explicit HostMemory(bool guardPages) : guardPages(guardPages) {}
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  /// Aligned to 4096 bytes, from 2 MiB on to 2 MiB and in huge pages where the system has them. 0 bytes are legal.
  ///   Ownership  this object's, until release or its own end.
  ///   Errors     InvalidArgument: a negative size. ResourceExhausted: names the bytes asked for.
  absl::StatusOr<Buffer> allocate(int64_t bytes);
  void release(Buffer buffer);

private:
  struct Mapping {
    void *address;
    size_t bytes;
  };

  bool guardPages;
  std::mutex mutex;
  std::map<std::byte *, Mapping> mappings;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H
