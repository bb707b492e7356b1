//===- Launch.h - A program that runs as several ranks ------------------------===//
//
// Joins what a rank needs (its place in the job, device, communicator) and decides how the job ends:
//
//   int main(int argc, char **argv) {
//     Flags flags("trainer", "...");
//     LaunchOptions options;
//     options.addTo(flags);
//     return launchMain(flags, argc, argv, options, [&](Launch &launch) -> absl::Status { ... });
//   }
//
// Under mpirun, or told by RANK and WORLD_SIZE, each process is a rank; started alone, it is the only one. An error
// ends the job on every rank, with one line `rank R: error: ...` from each and an exit status that is not 0:
//
//   who fails                   what happens
//   all, at the same point      each prints its own error and ends by itself (two seconds at most pass)
//   one, and all call agree     it prints its error, the others print whose it was, and each ends by itself
//   one, while others run on    it prints its error, waits two seconds for the others, and then ends the job; the
//                               others are told by a signal, and say for which rank and collective they waited
//   one is told to end by       it says for which rank and collective it waits, or, 0.7 seconds later and wherever it
//   SIGTERM or SIGINT           is, only that; it leaves no unfinished file behind. The others miss it as above
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCH_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCH_H

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

namespace splitcast {

struct LaunchOptions {
  double timeoutSeconds = 300; ///< how long a rank waits for another before that is an error
  int64_t threads = 0;         ///< per rank; 0: the processors of the machine, shared by its ranks
  std::string deviceKind = "cpu";
  std::string transport = "memory";               ///< how ranks of one machine exchange tensors; "memory" or "messages"
  std::string profile;                            ///< a file; empty: no profile
  bool perfMap = false;                           ///< whether generated code gets names for Linux's perf
  bool anyOrder = false;                          ///< whether kernels may add up in any order, to see what it saves
  bool noCollectives = false;                     ///< whether those of a step do nothing, to see what they cost
  std::string kernelCache = defaultKernelCache(); ///< where compiled kernels are kept; empty: nowhere

  /// --timeout, --threads, --device, --transport, --profile, --perf-map, --any-order, --no-collectives and
  /// --kernel-cache.
  void addTo(Flags &flags);
  /// ~/.cache/splitcast/kernels, under XDG_CACHE_HOME where that is set; empty without a home.
  static std::string defaultKernelCache();
};

/// This rank. Destroyed after everything that uses its device or its communicator.
class Launch {
public:
  /// Called once per process, by all ranks.
  ///   Errors  those of createJob. What is wrong with the options comes up in ready(), so that ranks can agree
  ///           about it.
  static absl::StatusOr<std::unique_ptr<Launch>> create(const LaunchOptions &options);

  int64_t rank() const { return job->rank(); }
  int64_t size() const { return job->size(); }
  /// Per rank, the same on all.
  int threads() const { return rankThreads; }
  const LaunchOptions &options() const { return chosen; }
  /// Why ranks of one machine use messages, though --transport=memory, for a person; empty: they do not.
  const std::string &transportNote() const { return note; }

  /// Whether this rank has its device. What is wrong with it is found before the flags are agreed about, and said
  /// after.
  const absl::Status &ready() const { return readiness; }
  runtime::Device &device() { return *rankDevice; }
  runtime::Communicator &communicator() { return *ranks; }

  /// What all ranks do first: they agree that their flags were `parsed` and are the same, and, unless help is
  /// wanted, that all have their devices; rank 0 prints what is to be noted.
  absl::Status begin(const absl::Status &parsed, const Flags &flags);

  /// What sessions are observed by, for --profile; null without it.
  runtime::ExecutorObserver *observer() { return profiler.get(); }
  /// What all ranks do last, when everything has gone well on all of them.
  void atEnd(std::function<absl::Status(runtime::Communicator &)> report) { lastReport = std::move(report); }
  /// All ranks call it at the same point, when no session will run any more, with how they fared: what --profile asks
  /// for and what is told atEnd, if all fared well.
  absl::Status finish(absl::Status status);

  /// All ranks call it at the same point, each with how it fared up to `what`: OK if all are OK. A rank that failed
  /// gets its own status back, another one gets that of the first rank that failed, which it names.
  absl::Status agree(const absl::Status &mine, const std::string &what);
  /// Likewise: OK if all ranks say the same of `what`, such as "flags"; else who says what (checkAlike).
  absl::Status agreeAlike(const std::string &mine, const std::string &what);

  /// From now on SIGTERM and SIGINT end this process as said above. Once per process, before create().
  static void endOnSignals();

  /// Ends the job, as all ranks do at the end of main, and gives the exit status of this process: 0 if `status` is OK
  /// on all of them. Prints what failed. Nothing else of this launch may be alive.
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
  absl::Status readiness;
  std::string note;
  std::unique_ptr<runtime::Profiler> profiler;
  std::function<absl::Status(runtime::Communicator &)> lastReport;
  runtime::Peaks peaks; ///< of the profile
  std::unique_ptr<runtime::Job> job;
  std::unique_ptr<runtime::Transport> farewell; ///< of end() alone
  std::shared_ptr<runtime::PeerMemory> peerMemory;
  std::unique_ptr<runtime::Device> rankDevice;
  std::unique_ptr<runtime::Communicator> control; ///< of agree() alone, so that it never meets a message of a program
  std::unique_ptr<runtime::Communicator> ranks;
};

/// Parses the flags, launches, agrees about errors in them and that all ranks have the same (Flags::given), runs
/// `body`, and ends: the exit status. --help is printed once.
int launchMain(Flags &flags, int argc, char **argv, const LaunchOptions &options,
               const std::function<absl::Status(Launch &)> &body);

/// "rank 3: error: ..." on stderr, in one piece.
void printError(int64_t rank, const absl::Status &status);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCH_H
