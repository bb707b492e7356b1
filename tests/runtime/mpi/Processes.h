//===- Processes.h - How tests start ranks ----------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_PROCESSES_H
#define SPLITCAST_TESTS_RUNTIME_MPI_PROCESSES_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace splitcast {

/// The beginning of an mpirun command, which keeps its files in that directory (SessionDirectory.h). Ranks may
/// outnumber the processors, and then give way to each other.
std::vector<std::string> mpirunWords(const std::string &sessionDirectory);

/// Starts the command with nothing to read; what it prints goes to the file. It is the leader of a process group of its
/// own, so that kill(-pid, ...) ends all that it starts. Exits with 127 if the command cannot be run.
///   Returns  its process id; -1 when no process could be made.
pid_t startProcess(std::vector<std::string> command, const std::string &outputPath);

} // namespace splitcast

#endif // SPLITCAST_TESTS_RUNTIME_MPI_PROCESSES_H
