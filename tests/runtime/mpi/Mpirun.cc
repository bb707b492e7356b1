#include "tests/runtime/mpi/Mpirun.h"

#include "tests/runtime/mpi/Processes.h"
#include "tests/runtime/mpi/SessionDirectory.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

std::string ownPath() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, length) : "";
}

/// The exit code of `child`, or -1 when it did not end in time.
int waitOrKill(pid_t child, double limitSeconds) {
  auto begin = std::chrono::steady_clock::now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() > limitSeconds) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

MpirunResult runUnderMpirun(int64_t ranks, const std::vector<std::string> &arguments, double limitSeconds) {
  std::string outputPath = makeTestDirectory() + "/output";
  SessionDirectory session;
  std::vector<std::string> command = mpirunWords(session.path());
  command.insert(command.end(), {"-n", std::to_string(ranks), ownPath()});
  command.insert(command.end(), arguments.begin(), arguments.end());
  MpirunResult result;
  auto begin = std::chrono::steady_clock::now();
  pid_t child = startProcess(std::move(command), outputPath);
  if (child > 0)
    result.exitCode = waitOrKill(child, limitSeconds);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.output = readText(outputPath);
  return result;
}

std::string makeTestDirectory() {
  const char *base = std::getenv("TEST_TMPDIR");
  std::string path = std::string(base ? base : "/tmp") + "/mpi.XXXXXX";
  return mkdtemp(path.data()) ? path : "";
}

std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace splitcast::runtime
