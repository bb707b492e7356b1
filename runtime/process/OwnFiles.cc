#include "runtime/process/OwnFiles.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <unistd.h>
#include <vector>

namespace splitcast::runtime {
namespace {

struct OwnFiles {
  std::mutex mutex; ///< fork() holds it, so that the child finds it and the list in order
  std::vector<int> descriptors;
};

OwnFiles &ownFiles() {
  static auto *files = new OwnFiles; // never deleted: sockets may be closed while the process ends
  return *files;
}

std::atomic<bool> isChild{false};

void beforeFork() { ownFiles().mutex.lock(); }
void inParent() { ownFiles().mutex.unlock(); }

/// Calls only what is allowed between fork and exec.
void inChild() {
  const std::vector<int> &descriptors = ownFiles().descriptors;
  if (!descriptors.empty()) {
    isChild = true;
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const int descriptor : descriptors)
      if (nothing < 0 || dup3(nothing, descriptor, O_CLOEXEC) < 0)
        close(descriptor);
    if (nothing >= 0)
      close(nothing);
  }
  ownFiles().mutex.unlock();
}

} // namespace

int openOwn(absl::FunctionRef<int()> open) {
  [[maybe_unused]] static const int registered = pthread_atfork(beforeFork, inParent, inChild);
  OwnFiles &files = ownFiles();
  std::lock_guard<std::mutex> lock(files.mutex);
  const int descriptor = open();
  if (descriptor >= 0)
    files.descriptors.push_back(descriptor);
  return descriptor;
}

void closeOwn(int descriptor) {
  OwnFiles &files = ownFiles();
  std::lock_guard<std::mutex> lock(files.mutex);
  auto found = std::find(files.descriptors.begin(), files.descriptors.end(), descriptor);
  if (found != files.descriptors.end())
    files.descriptors.erase(found);
  close(descriptor);
}

bool isForkedChild() { return isChild; }

} // namespace splitcast::runtime
