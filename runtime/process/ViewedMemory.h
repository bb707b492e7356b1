//===- ViewedMemory.h - Memory of others that this process maps -------------------===//
//
// The system counts what a process maps as its own, also where that is another's. So a page that several ranks of a
// machine map counts in each of them; here it is known which a rank should leave out.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PROCESS_VIEWEDMEMORY_H
#define SPLITCAST_RUNTIME_PROCESS_VIEWEDMEMORY_H

#include <cstdint>

namespace splitcast::runtime {

/// In bytes: now, and at most at a time.
struct ViewedBytes {
  int64_t bytes = 0, most = 0;
};

/// Of other ranks, mapped by this process.
struct ViewedMemory {
  ViewedBytes read;   ///< of huge pages that were read in part, all
  ViewedBytes shared; ///< blocks of others in memory of which ranks have one copy
};
ViewedMemory viewedMemory();
/// From now on `most` counts what comes.
void restartViewedMemory();

/// So many bytes more that are read, or fewer. Any thread may call it.
void countViewed(int64_t bytes);

/// Counts so many bytes as shared while it lives.
class SharedView {
public:
  explicit SharedView(int64_t bytes);
  SharedView(const SharedView &) = delete;
  SharedView &operator=(const SharedView &) = delete;
  ~SharedView();

private:
  const int64_t bytes;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PROCESS_VIEWEDMEMORY_H
