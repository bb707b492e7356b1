//===- Job.h - Programs run as a user runs them: as ranks under mpirun ----------===//
#ifndef SPLITCAST_TESTS_EXAMPLES_JOB_H
#define SPLITCAST_TESTS_EXAMPLES_JOB_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace splitcast {

using Command = std::vector<std::string>; ///< program, then its arguments

struct Job {
  /// One for all ranks, or one per rank.
  std::vector<Command> commands;
  /// 0: without mpirun, as one process.
  int64_t ranks = 0;
  /// Without mpirun: each rank is a process that RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT tell who it is.
  bool byVariables = false;
  /// Where the ranks run; their paths are relative to it.
  std::string directory;
  /// After it all is killed.
  double limitSeconds = 60;
  /// Called now and then while the job runs, with the process ids of the ranks that have begun, by rank.
  std::function<void(const std::map<int64_t, int> &pids)> watch;
};

struct JobResult {
  int exitStatus = -1; ///< of mpirun, or of the one process; -1: it ran past its time
  double seconds = 0;
  std::vector<int> rankStatuses;        ///< exit status of each rank, 128 + signal where one ended it; -1: unknown
  std::vector<std::string> rankOutputs; ///< what each rank wrote to stdout and stderr
  std::string output;                   ///< what the launcher wrote

  bool succeeded() const;
  /// All that was written, for messages.
  std::string describe() const;
};

JobResult runJob(const Job &job);

/// A new, empty directory of this test.
std::string makeDirectory();
/// Path of a program of this workspace: "examples/recipe/recipe".
std::string programPath(const std::string &target);
std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &text);
/// Contents of all files below a directory, by path; directories end in '/'.
std::map<std::string, std::string> snapshot(const std::string &directory);

} // namespace splitcast

#endif // SPLITCAST_TESTS_EXAMPLES_JOB_H
