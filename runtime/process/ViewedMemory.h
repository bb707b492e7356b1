//===- ViewedMemory.h - Memory of other ranks that this process maps --------------===//
//
// The system counts all that a process maps as the process's own memory. So a page that several ranks of a machine map
// counts in each of them. These counters tell how much a rank should subtract.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PROCESS_VIEWEDMEMORY_H
#define SPLITCAST_RUNTIME_PROCESS_VIEWEDMEMORY_H

#include <cstdint>

namespace splitcast::runtime {

/// The bytes that are mapped now, and the most at any one time.
struct ViewedBytes {
  int64_t bytes = 0, most = 0;
};

/// Memory of other ranks that this process maps.
struct ViewedMemory {
  ViewedBytes read;   ///< pages that were read; a huge page counts as a whole
  ViewedBytes shared; ///< blocks of other ranks in memory of which ranks have one copy
};
ViewedMemory viewedMemory();
/// Resets `most` to the present number of bytes.
void restartViewedMemory();

/// Adds `bytes`, which may be negative, to the bytes that are read. Any thread may call it.
void countViewed(int64_t bytes);

/// Counts this many bytes as shared while it exists.
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
