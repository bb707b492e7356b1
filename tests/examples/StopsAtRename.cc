//===- StopsAtRename.cc - Stops a program between its look and its act -------------------===//
//
// Preloaded into a program, it stops it (SIGSTOP) just before or just after its Nth rename(2) to a name with "/step-":
// what the program has looked at before may be other than it was when it goes on.
//
//   SPLITCAST_TEST_STOP_BEFORE, SPLITCAST_TEST_STOP_AFTER   N; one of them
//
//===----------------------------------------------------------------------===//
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

void stopIf(const char *variable, int count) {
  const char *number = std::getenv(variable);
  if (number && count == std::atoi(number))
    std::raise(SIGSTOP);
}

} // namespace

extern "C" int rename(const char *from, const char *to) noexcept {
  using Rename = int (*)(const char *, const char *);
  static const auto next = reinterpret_cast<Rename>(dlsym(RTLD_NEXT, "rename"));
  static std::atomic<int> count{0};
  if (!std::strstr(to, "/step-"))
    return next(from, to);
  const int number = ++count;
  stopIf("SPLITCAST_TEST_STOP_BEFORE", number);
  const int result = next(from, to);
  stopIf("SPLITCAST_TEST_STOP_AFTER", number);
  return result;
}
