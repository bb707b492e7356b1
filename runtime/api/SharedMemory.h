//===- SharedMemory.h - Memory of which several ranks share one copy ---------===//
#ifndef SPLITCAST_RUNTIME_API_SHAREDMEMORY_H
#define SPLITCAST_RUNTIME_API_SHAREDMEMORY_H

#include "runtime/api/Device.h"

namespace splitcast::runtime {

/// All ranks see what one rank writes here, each at an address of its own, aligned to 64 bytes. Collectives order the
/// reads and writes of different ranks. Destroying the object ends the access of this rank only.
class SharedMemory {
public:
  virtual ~SharedMemory() = default;
  virtual Buffer buffer() const = 0;
  /// Makes the memory's pages present in this process, which takes a while if there are many. All ranks may call it at
  /// once. Memory of Communicator::shareMemory has them already; for memory of a Transport, call it before the first
  /// write.
  ///   Errors  ResourceExhausted: the system does not have that much memory.
  virtual absl::Status populate() { return absl::OkStatus(); }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_SHAREDMEMORY_H
