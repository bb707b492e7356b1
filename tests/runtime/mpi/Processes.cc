#include "tests/runtime/mpi/Processes.h"

#include <fcntl.h>
#include <unistd.h>

namespace splitcast {
namespace {

[[noreturn]] void execute(std::vector<std::string> command, const std::string &outputPath) {
  setpgid(0, 0);
  int input = open("/dev/null", O_RDONLY);
  int output = open(outputPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char *> arguments;
  for (std::string &word : command)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

} // namespace

std::vector<std::string> mpirunWords(const std::string &sessionDirectory) {
  std::vector<std::string> words = {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"};
  auto addOption = [&](const char *name, const std::string &value) {
    words.insert(words.end(), {"--mca", name, value});
  };
  addOption("mpi_yield_when_idle", "1");
  addOption("orte_tmpdir_base", sessionDirectory);
  addOption("btl_base_warn_component_unused", "0");
  return words;
}

pid_t startProcess(std::vector<std::string> command, const std::string &outputPath) {
  const pid_t child = fork();
  if (child == 0)
    execute(std::move(command), outputPath);
  return child;
}

} // namespace splitcast
