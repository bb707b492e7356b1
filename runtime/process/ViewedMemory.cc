#include "runtime/process/ViewedMemory.h"

#include <atomic>

namespace splitcast::runtime {
namespace {

/// Counts bytes, and the most there were at any time. Any thread may use it.
class Counter {
public:
  void add(int64_t more) {
    const int64_t now = bytes += more;
    for (int64_t most = mostBytes; now > most && !mostBytes.compare_exchange_weak(most, now);)
      ;
  }
  void restart() { mostBytes = bytes.load(); }
  ViewedBytes count() const { return {bytes, mostBytes}; }

private:
  std::atomic<int64_t> bytes = 0, mostBytes = 0;
};

Counter readBytes, sharedBytes;

} // namespace

void countViewed(int64_t bytes) { readBytes.add(bytes); }

SharedView::SharedView(int64_t bytes) : bytes(bytes) { sharedBytes.add(bytes); }
SharedView::~SharedView() { sharedBytes.add(-bytes); }

ViewedMemory viewedMemory() { return {readBytes.count(), sharedBytes.count()}; }
void restartViewedMemory() {
  readBytes.restart();
  sharedBytes.restart();
}

} // namespace splitcast::runtime
