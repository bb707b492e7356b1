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
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_SHAREDMEMORY_H
