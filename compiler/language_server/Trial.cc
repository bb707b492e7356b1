#include "compiler/language_server/Trial.h"

#include <cerrno>
#include <sys/wait.h>
#include <unistd.h>

namespace splitcast {
namespace {

constexpr unsigned kMostSeconds = 30; // the alarm then ends the copy

/// Does the work in the forked copy, writes its result to `out` and exits.
[[noreturn]] void workInCopy(llvm::function_ref<std::string()> work, int out) {
  alarm(kMostSeconds);
  const std::string result = work();
  size_t written = 0;
  while (written < result.size()) {
    const ssize_t count = write(out, result.data() + written, result.size() - written);
    if (count < 0 && errno != EINTR)
      _exit(1);
    written += count < 0 ? 0 : static_cast<size_t>(count);
  }
  _exit(0); // _exit: handlers registered by the original process must not run in the copy
}

std::string readAll(int in) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t count = read(in, part, sizeof(part));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return text;
    text.append(part, static_cast<size_t>(count));
  }
}

} // namespace

std::optional<std::string> tryInCopy(llvm::function_ref<std::string()> work) {
  int ends[2];
  if (pipe(ends) != 0)
    return std::nullopt;
  const pid_t copy = fork();
  if (copy == 0) {
    close(ends[0]);
    workInCopy(work, ends[1]);
  }
  close(ends[1]);
  std::string result = copy < 0 ? "" : readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  pid_t ended = -1;
  do
    ended = copy < 0 ? -1 : waitpid(copy, &status, 0);
  while (copy > 0 && ended < 0 && errno == EINTR);
  if (ended != copy || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return result;
}

} // namespace splitcast
