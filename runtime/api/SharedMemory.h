//===- SharedMemory.h - Memory of which several ranks have one copy ----------===//
#ifndef SPLITCAST_RUNTIME_API_SHAREDMEMORY_H
#define SPLITCAST_RUNTIME_API_SHAREDMEMORY_H

#include "runtime/api/Device.h"

namespace splitcast::runtime {

/// What one rank writes there, all see, each at an address of its own; when, is for collectives to say. A rank's part
/// in it ends with its object.
class SharedMemory {
public:
  virtual ~SharedMemory() = default;
  virtual Buffer buffer() const = 0;
  /// Gets it its pages in this process, which takes a while for much memory; all ranks may call it at once.
  ///   Errors  ResourceExhausted: the system has not so much.
  virtual absl::Status populate() { return absl::OkStatus(); }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_SHAREDMEMORY_H
