//===- Launch.h - A program that runs as several ranks ------------------------===//
//
// A Launch has what a rank needs (its place in the job, device, communicator) and decides how the job ends:
//
//   int main(int argc, char **argv) {
//     Flags flags("trainer", "...");
//     LaunchOptions options;
//     options.addTo(flags);
//     return launchMain(flags, argc, argv, options, [&](Launch &launch) -> absl::Status { ... });
//   }
//
// Under mpirun, or with RANK and WORLD_SIZE set, each process is a rank; a process that is started alone is the only
// rank. An error ends the job on every rank: each prints one line `rank R: error: ...` and exits with a status that is
// not 0:
//
//   who fails                   what happens
//   all, at the same point      each rank prints its own error and exits by itself, within two seconds
//   one, and all call agree     it prints its error, the others print which rank failed and why, and each rank exits by
//                               itself
//   one, while others continue  it prints its error, waits two seconds for the others, and then ends the job; the
//                               others get a signal, and print which rank and collective they were waiting for
//   none, but one ends while    the others print for which call they waited, and that the rank has ended its program;
//   others wait for it          each rank exits by itself, within seconds
//   one that gets SIGTERM       it prints which rank and collective it is waiting for; if it is not waiting, it exits
//   or SIGINT                   after 0.7 seconds, and prints only that it was told to end; it leaves no unfinished
//                               file; the others notice its loss as above
//
// Only one thread at a time may use a Launch, its device and its communicator: the one that called create().
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCH_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCH_H

#include "compiler/launch/Endings.h"
#include "compiler/launch/LaunchFlags.h"
#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"
#include "runtime/api/Job.h"
#include "runtime/executor/Profiler.h"
#include "runtime/host/Peaks.h"
#include "runtime/pull/PeerMemory.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace splitcast {

struct LaunchOptions {
  double timeoutSeconds = 300;      ///< how long a rank waits for another before that is an error; see Communicator.h
  int64_t threads = 0;              ///< per rank; 0 divides the processors of the machine among its ranks
  std::string deviceKind = "cpu";   ///< one of launchBackends()
  std::string transport = "memory"; ///< how ranks of one machine exchange tensors; "memory" or "messages"
  std::string profile;              ///< the file for a profile, of rank 0; if empty, none is made
  std::string reproducer;           ///< the file of a failed compilation, per rank; if empty, none is written
  bool perfMap = false;             ///< whether generated code gets names for Linux's perf
  bool anyOrder = false;            ///< lets kernels sum in any order, to measure what a fixed one costs
  bool noCollectives = false;       ///< makes a step's collectives do nothing, to measure their cost
  std::string kernelCache = defaultKernelCache(); ///< the directory of compiled kernels; if empty, none are kept

  /// Adds --timeout, --threads, --device, --transport, --profile, --reproducer, --perf-map, --any-order,
  /// --no-collectives and --kernel-cache.
  void addTo(Flags &flags);
  /// Returns the files that rank `rank` may write; those that are not asked for are empty.
  std::vector<std::string> writtenFiles(int64_t rank) const;
  /// ~/.cache/splitcast/kernels, or splitcast/kernels under XDG_CACHE_HOME if that is set; empty without a home.
  static std::string defaultKernelCache();
};

/// This rank. It must outlive everything that uses its device or its communicator.
class Launch {
public:
  /// All ranks call it, once per process.
  ///   Errors  those of createJob. An error of the options is not among them: ready() returns it, so that all ranks can
  ///           agree on it.
  static absl::StatusOr<std::unique_ptr<Launch>> create(const LaunchOptions &options);

  int64_t rank() const { return job->rank(); }
  int64_t size() const { return job->size(); }
  /// The number of threads per rank, the same on all ranks.
  int threads() const { return rankThreads; }
  const LaunchOptions &options() const { return chosen; }
  /// A message for the user: why ranks of one machine exchange messages in spite of --transport=memory; empty if they
  /// do not.
  const std::string &transportNote() const { return note; }

  /// OK if this rank has its device, and the options fit it; otherwise the error. It is known before ranks compare
  /// their flags, and begin() reports it afterwards.
  const absl::Status &ready() const { return readiness; }
  /// Require that ready() is OK.
  runtime::Device &device() { return *rankDevice; }
  runtime::Communicator &communicator() { return *ranks; }

  /// All ranks call it first. They agree that their flags were `parsed` and are the same and, unless help is wanted,
  /// that all have their devices. Rank 0 prints transportNote().
  absl::Status begin(const absl::Status &parsed, const Flags &flags);

  /// The observer to pass to sessions for --profile; null without the flag.
  runtime::ExecutorObserver *observer() { return profiler.get(); }
  /// Sets what all ranks do at the end, if none has failed. A second call replaces the first.
  void atEnd(std::function<absl::Status(runtime::Communicator &)> report) { lastReport = std::move(report); }
  /// All ranks call it at the same point, after the last run of any session, each with its own status. If all
  /// succeeded, writes the profile for --profile, and then does what was given to atEnd().
  absl::Status finish(absl::Status status);

  /// All ranks call it at the same point, each with its own status at the point `what`, which names it in messages.
  /// Returns OK if all are OK; on a rank that failed its own status; on another rank the status of the first rank that
  /// failed, with its number. If a rank does not come, the others get an error of Communicator::exchange.
  absl::Status agree(const absl::Status &mine, const runtime::CallSite &what);
  /// All ranks call it at the same point. Returns OK if all pass the same text for `what`, such as "flags"; otherwise
  /// an error that lists which ranks passed which text (checkAlike).
  absl::Status agreeAlike(const std::string &mine, const runtime::CallSite &what);

  /// From now on SIGTERM and SIGINT end this process as described above. Called once per process, before create().
  static void endOnSignals();

  /// Ends the job; all ranks call it at the end of main. Returns the exit status of this process: 0 if `status` is OK
  /// on all ranks, else 1. Prints the error of the rank that failed. Nothing that uses this launch may be alive. If a
  /// rank does not come in time, it does not return, but ends this process with status 1.
  int end(const absl::Status &status);

private:
  Launch() = default;
  absl::Status connect();
  absl::StatusOr<std::unique_ptr<runtime::Transport>> connectMemory(std::unique_ptr<runtime::Transport> messages);
  absl::Status shareProcessors();
  absl::Status createDevice();
  absl::Status prepareProfile();
  absl::Status writeProfile();

  LaunchOptions chosen;
  int rankThreads = 1;
  int64_t localRank = 0, localRanks = 1; ///< on this machine
  bool warnsOfCache = true;              ///< whether no lower rank of this machine has the same cache of kernels
  absl::Status readiness;
  std::string note;
  std::function<absl::Status(runtime::Communicator &)> lastReport;
  std::unique_ptr<runtime::Job> job;
  std::unique_ptr<runtime::Transport> farewell; ///< used by `endings` and end() only
  std::unique_ptr<Endings> endings;
  std::shared_ptr<runtime::PeerMemory> peerMemory;
  std::unique_ptr<runtime::Device> rankDevice;
  std::unique_ptr<runtime::Profiler> profiler;
  runtime::Peaks peaks; ///< for the profile
  /// For the methods of this class only, so that their messages never mix with those of the program.
  std::unique_ptr<runtime::Communicator> control;
  std::unique_ptr<runtime::Communicator> ranks;
};

/// Parses the flags, launches, agrees with the other ranks on errors in the flags and that all have the same ones
/// (Flags::given), runs `body` on each rank, and ends the job. Returns the exit status. --help is printed once, by rank
/// 0, and `body` is then not run. What `body` made from the launch must be gone when it returns.
int launchMain(Flags &flags, int argc, char **argv, const LaunchOptions &options,
               const std::function<absl::Status(Launch &)> &body);

/// Prints "rank 3: error: ..." to stderr, in one write.
void printError(int64_t rank, const absl::Status &status);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCH_H
