//===- Job.h - Runs programs as ranks, like a user ------------------------------===//
#ifndef SPLITCAST_TESTS_EXAMPLES_JOB_H
#define SPLITCAST_TESTS_EXAMPLES_JOB_H

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace splitcast {

using Command = std::vector<std::string>; ///< a program and its arguments

struct Job {
  /// One command for all ranks, or one per rank.
  std::vector<Command> commands;
  /// The number of ranks under mpirun; 0 for a single process without mpirun.
  int64_t ranks = 0;
  /// Whether the ranks are started without mpirun, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set.
  bool byVariables = false;
  /// Variables that are set besides those of this process: the same for all ranks, or those of each rank.
  std::vector<std::map<std::string, std::string>> environments;
  /// The working directory of the ranks.
  std::string directory;
  /// The time after which all processes are killed, and the time without a word from any of them.
  double limitSeconds = 60, silenceSeconds = std::numeric_limits<double>::infinity();
  /// Called repeatedly while the job runs, with the process ids of the ranks that have begun, by rank.
  std::function<void(const std::map<int64_t, int> &pids)> watch;
};

struct JobResult {
  int exitStatus = -1; ///< that of mpirun, or of the single process; -1 if it exceeded a limit
  double seconds = 0;
  std::vector<int> rankStatuses;        ///< each rank's exit status; 128 + N after signal N; -1 if it is unknown
  std::vector<std::string> rankOutputs; ///< what each rank wrote to stdout and stderr
  std::string output;                   ///< what the launcher wrote

  bool succeeded() const;
  /// Returns everything that was written, for messages.
  std::string describe() const;
};

JobResult runJob(const Job &job);

/// Creates an empty directory for this test.
std::string makeDirectory();
/// Returns the path of a program of this workspace, such as "examples/recipe/recipe".
std::string programPath(const std::string &target);
std::string readFile(const std::string &path);
/// Returns the state of a process, as /proc has it: 'R' runs, 'T' is stopped, 'Z' has ended but was not waited for; 0
/// if there is none.
char processState(int pid);
void writeFile(const std::string &path, const std::string &text);
/// Returns the contents of all files below a directory, by path. The paths of directories end in '/'.
std::map<std::string, std::string> snapshot(const std::string &directory);

} // namespace splitcast

#endif // SPLITCAST_TESTS_EXAMPLES_JOB_H
