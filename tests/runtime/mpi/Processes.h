//===- Processes.h - How tests start ranks ----------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_PROCESSES_H
#define SPLITCAST_TESTS_RUNTIME_MPI_PROCESSES_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace splitcast {

/// Returns the beginning of an mpirun command that keeps its files in `sessionDirectory` (SessionDirectory.h). There
/// may be more ranks than processors; waiting ranks then yield.
std::vector<std::string> mpirunWords(const std::string &sessionDirectory);

/// Starts a command with empty stdin, and its output in a file. The process is the leader of a new process group, so
/// that kill(-pid, ...) ends all processes that it starts. If the command cannot be run, the process exits with 127.
///   Returns  the process id; -1 if no process could be created.
pid_t startProcess(std::vector<std::string> command, const std::string &outputPath);

} // namespace splitcast

#endif // SPLITCAST_TESTS_RUNTIME_MPI_PROCESSES_H
