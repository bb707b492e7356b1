#include "compiler/launch/Launch.h"

#include "compiler/launch/Alike.h"

#include "compiler/launch/LaunchBackend.h"
#include "compiler/launch/Profile.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/api/WithoutCollectives.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/io/File.h"
#include "runtime/job/Jobs.h"
#include "runtime/process/ProcessHealth.h"
#include "runtime/pull/PullTransport.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sched.h>
#include <unistd.h>

namespace splitcast {
namespace {

/// How long a rank that failed waits for the others to end, too, before it ends the job.
constexpr double kFarewellSeconds = 2;

/// How long a rank that was told to end may take to say for whom it waited. mpirun kills it 0.9 s after the signal.
constexpr absl::Duration kSignalGrace = absl::Milliseconds(700);

absl::Duration toDuration(double seconds) { return absl::Seconds(seconds); }

/// The processors that this process may use: its machine and their numbers.
std::string processorsText() {
  char machine[256] = {};
  gethostname(machine, sizeof(machine) - 1);
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::string text = absl::StrCat(CPU_COUNT(&set), " of ", machine, ":");
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set))
      absl::StrAppend(&text, " ", processor);
  return text;
}

/// Processors per rank where ranks with the same ones share them; the fewest of any rank.
int64_t sharedProcessors(const std::vector<std::string> &processors) {
  int64_t fewest = INT64_MAX;
  for (const std::string &text : processors) {
    int64_t count = 1;
    (void)absl::SimpleAtoi(text.substr(0, text.find(' ')), &count);
    fewest = std::min<int64_t>(fewest, count / std::count(processors.begin(), processors.end(), text));
  }
  return std::max<int64_t>(1, fewest);
}

/// "OK", or the status as text that decode understands.
std::string encode(const absl::Status &status) {
  return status.ok() ? "OK" : absl::StrCat(static_cast<int>(status.code()), " ", std::string(status.message()));
}

absl::Status decode(const std::string &text, int64_t rank) {
  int code = 0;
  size_t blank = text.find(' ');
  if (text == "OK")
    return absl::OkStatus();
  if (blank == std::string::npos || !absl::SimpleAtoi(text.substr(0, blank), &code))
    return absl::InternalError(absl::StrCat("rank ", rank, " sent a status that cannot be read"));
  return {static_cast<absl::StatusCode>(code), absl::StrCat("rank ", rank, " failed: ", text.substr(blank + 1))};
}

/// The first status of a rank that failed.
absl::Status firstFailure(const std::vector<std::string> &statuses) {
  for (size_t rank = 0; rank < statuses.size(); ++rank)
    SPLITCAST_RETURN_IF_ERROR(decode(statuses[rank], static_cast<int64_t>(rank)));
  return absl::OkStatus();
}

/// Whether this process has said why it ends.
std::atomic<bool> hasSaid = false;

std::string errorText(int64_t rank, const absl::Status &status) {
  std::string prefix = absl::StrCat("rank ", rank, ": error: ");
  std::string indent = absl::StrCat("\n", std::string(prefix.size(), ' '));
  return absl::StrCat(prefix, absl::StrReplaceAll(std::string(status.message()), {{"\n", indent}}), "\n");
}

/// One write, so that lines of several ranks do not mix.
void writeError(const std::string &text) {
  hasSaid = true;
  size_t written = 0;
  while (written < text.size()) {
    ssize_t count = write(STDERR_FILENO, text.data() + written, text.size() - written);
    if (count <= 0)
      return;
    written += static_cast<size_t>(count);
  }
}

/// The last that a rank does which was told to end and did not get to it. (It leaves stdout alone, which the rank may
/// be writing to.)
void endWherever(const absl::Status &status) {
  runtime::removePendingFiles();
  if (!hasSaid)
    writeError(errorText(runtime::rankFromEnvironment(), status));
}

std::unique_ptr<runtime::Communicator> makeCommunicator(std::unique_ptr<runtime::Transport> transport, double seconds) {
  runtime::HostCommunicatorOptions options;
  options.timeout = toDuration(seconds);
  return runtime::createHostCommunicator(std::move(transport), options);
}

} // namespace

//===----------------------------------------------------------------------===//
// LaunchOptions
//===----------------------------------------------------------------------===//

std::string LaunchOptions::defaultKernelCache() {
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return absl::StrCat(cache, "/splitcast/kernels");
  if (const char *home = std::getenv("HOME"); home && *home)
    return absl::StrCat(home, "/.cache/splitcast/kernels");
  return "";
}

void LaunchOptions::addTo(Flags &flags) {
  flags.addNumber("timeout", &timeoutSeconds, 0.1, 1e6,
                  "seconds that a rank waits for another before that is an error");
  flags.addInteger("threads", &threads, 0, 4096, "threads per rank; 0: the machine's processors, shared by its ranks");
  flags.addChoice("device", &deviceKind, launchBackends(), "what the ranks compute on");
  flags.addChoice("transport", &transport, {"memory", "messages"},
                  "how ranks of one machine exchange tensors: each reads the others' memory, if the system lets it; or "
                  "as with ranks of other machines");
  flags.addString("kernel-cache", &kernelCache, "DIRECTORY", "where compiled kernels are kept; empty: nowhere");
  flags.addString("profile", &profile, "FILE.json",
                  "how long each op of the plan takes: a trace of all ranks for a browser's tracing page; the table is "
                  "printed");
  flags.addString("reproducer", &reproducer, "FILE.mlir",
                  "where a rank writes, if a pass fails, the module and the passes: rank 0 to FILE.mlir.0, the last if "
                  "several fail; splitcast-opt FILE.mlir.0 --run-reproducer repeats the error");
  flags.addSwitch("perf-map", &perfMap, "names of kernels and of oneDNN's code for Linux's perf, in /tmp/perf-PID.map");
  flags.addSwitch(
      "any-order", &anyOrder,
      "kernels may add up in any order, to see what a fixed one costs: bits then change with the stage, the "
      "ranks and the machine, and no sum is exact");
  flags.addSwitch("no-collectives", &noCollectives,
                  "a step's collectives move nothing and wait for no rank, to see what of a step they cost: what is "
                  "computed is wrong then");
  for (const char *name : {"timeout", "kernel-cache", "perf-map", "reproducer"})
    flags.letDiffer(name);
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<Launch>> Launch::create(const LaunchOptions &options) {
  std::unique_ptr<Launch> launch(new Launch);
  launch->chosen = options;
  SPLITCAST_ASSIGN_OR_RETURN(launch->job, runtime::createJob(toDuration(options.timeoutSeconds)));
  SPLITCAST_RETURN_IF_ERROR(launch->connect());
  SPLITCAST_RETURN_IF_ERROR(launch->shareProcessors());
  launch->readiness = launch->createDevice();
  launch->readiness.Update(launch->prepareProfile());
  return launch;
}

absl::Status Launch::createDevice() {
  LaunchBackendOptions options;
  options.threads = rankThreads;
  options.kernelCache = chosen.kernelCache;
  options.namesForPerf = chosen.perfMap;
  options.anyOrder = chosen.anyOrder;
  options.localRank = localRank;
  options.localRanks = localRanks;
  options.timeout = toDuration(chosen.timeoutSeconds);
  options.memory = peerMemory->memory();
  options.endProcess = [](const absl::Status &status) {
    endWherever(status);
    _exit(1);
  };
  SPLITCAST_ASSIGN_OR_RETURN(LaunchBackend backend, createLaunchBackend(chosen.deviceKind, options, std::move(ranks)));
  rankDevice = std::move(backend.device);
  ranks = std::move(backend.communicator);
  if (chosen.noCollectives)
    ranks = runtime::withoutCollectives(std::move(ranks));
  return absl::OkStatus();
}

absl::Status Launch::prepareProfile() {
  for (const auto &[name, isGiven] : {std::pair("perf-map", chosen.perfMap), {"any-order", chosen.anyOrder}})
    if (isGiven && chosen.deviceKind != "cpu")
      return absl::InvalidArgumentError(absl::StrCat("--", name, " is given with --device=", chosen.deviceKind,
                                                     ", whose kernels are no code of this machine's processor; leave "
                                                     "it out, or run with --device=cpu"));
  if (chosen.profile.empty())
    return absl::OkStatus();
  if (chosen.deviceKind != "cpu")
    return absl::InvalidArgumentError(absl::StrCat("--profile is given with --device=", chosen.deviceKind,
                                                   ", whose calls return before the work is done; profile with "
                                                   "--device=cpu, or with the device's own profiler"));
  constexpr int64_t kTracedRuns = 200'000; // of all ranks: a trace of some 80 MB
  profiler = std::make_unique<runtime::Profiler>(static_cast<size_t>(kTracedRuns / size()));
  peaks = runtime::measurePeaks(rankThreads);
  return absl::OkStatus();
}

absl::Status Launch::writeProfile() {
  if (!profiler)
    return absl::OkStatus();
  return agree(splitcast::writeProfile(chosen.profile, *profiler, peaks, *control), "writing the profile");
}

absl::Status Launch::connect() {
  std::unique_ptr<runtime::Transport> transports[3];
  for (auto &transport : transports) {
    SPLITCAST_ASSIGN_OR_RETURN(transport, job->createTransport());
  }
  farewell = std::move(transports[0]);
  control = makeCommunicator(std::move(transports[1]), chosen.timeoutSeconds);
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Transport> tensors, connectMemory(std::move(transports[2])));
  ranks = makeCommunicator(std::move(tensors), chosen.timeoutSeconds);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<runtime::Transport>>
Launch::connectMemory(std::unique_ptr<runtime::Transport> messages) {
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Transport> answers, job->createTransport());
  // Whatever the flag says, which may not be the same on all ranks yet.
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<runtime::PeerMemory> memory,
                             runtime::PeerMemory::connect(*control, chosen.transport == "memory"));
  if (const std::string &why = memory->whatFailed(); !why.empty())
    note =
        absl::StrCat(why, "; such ranks exchange messages, which is slower. To read each other's, "
                          "processes need one user, one /proc, memfd_create, and no limit of their addresses; or say "
                          "--transport=messages");
  peerMemory = std::move(memory);
  return runtime::createPullTransport(std::move(messages), std::move(answers), peerMemory);
}

absl::Status Launch::shareProcessors() {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> processors,
                             control->exchange(processorsText(), {"start of the job"}));
  std::vector<std::string> machines;
  for (const std::string &text : processors)
    machines.push_back(text.substr(text.find(" of ") + 4, text.find(':') - text.find(" of ") - 4));
  localRanks = std::count(machines.begin(), machines.end(), machines[rank()]);
  localRank = std::count(machines.begin(), machines.begin() + rank(), machines[rank()]);
  rankThreads = static_cast<int>(chosen.threads > 0 ? chosen.threads : sharedProcessors(processors));
  return absl::OkStatus();
}

absl::Status Launch::agree(const absl::Status &mine, const std::string &what) {
  absl::StatusOr<std::vector<std::string>> all = control->exchange(encode(mine), {what});
  SPLITCAST_RETURN_IF_ERROR(mine);
  return all.ok() ? firstFailure(*all) : all.status();
}

absl::Status Launch::agreeAlike(const std::string &mine, const std::string &what) {
  absl::StatusOr<std::vector<std::string>> all = control->exchange(mine, {"comparison of " + what});
  return all.ok() ? checkAlike(*all, what) : all.status();
}

void Launch::endOnSignals() { runtime::endOnSignals(kSignalGrace, endWherever); }

absl::Status Launch::begin(const absl::Status &parsed, const Flags &flags) {
  absl::Status status = agree(parsed, "check of the flags");
  if (status.ok())
    status = agreeAlike(flags.given(), "flags");
  if (!status.ok() || flags.isHelpWanted())
    return status;
  status = agree(readiness, "choice of devices");
  if (status.ok() && !note.empty() && rank() == 0)
    fprintf(stderr, "note: %s\n", note.c_str());
  return status;
}

int Launch::end(const absl::Status &status) {
  // What is still under way after an error uses memory that is gone.
  ranks = nullptr;
  control = nullptr;
  if (!status.ok())
    printError(rank(), status);
  const double patience = status.ok() ? chosen.timeoutSeconds : std::min(kFarewellSeconds, chosen.timeoutSeconds);
  std::unique_ptr<runtime::Communicator> last = makeCommunicator(std::move(farewell), patience);
  absl::StatusOr<std::vector<std::string>> all = last->exchange(encode(status), {"end of the job"});
  absl::Status outcome = !status.ok() ? status : all.ok() ? firstFailure(*all) : all.status();
  if (status.ok() && !outcome.ok())
    printError(rank(), outcome);
  if (!all.ok())
    job->abortJob(1);
  return outcome.ok() ? 0 : 1;
}

absl::Status Launch::finish(absl::Status status) {
  if (profiler || lastReport)
    status = agree(status, "end of the run");
  if (status.ok())
    status = writeProfile();
  return status.ok() && lastReport ? lastReport(*control) : status;
}

int launchMain(Flags &flags, int argc, char **argv, const LaunchOptions &options,
               const std::function<absl::Status(Launch &)> &body) {
  Launch::endOnSignals();
  absl::Status parsed = flags.parse(argc, argv);
  // Even with flags that are wrong: the other ranks hear of it.
  absl::StatusOr<std::unique_ptr<Launch>> launch = Launch::create(parsed.ok() ? options : LaunchOptions());
  if (!launch.ok()) {
    printError(runtime::rankFromEnvironment(), launch.status());
    return 1;
  }
  absl::Status status = (*launch)->begin(parsed, flags);
  if (status.ok() && flags.isHelpWanted() && (*launch)->rank() == 0)
    printf("%s", flags.help().c_str());
  if (status.ok() && !flags.isHelpWanted()) {
    status = (*launch)->finish(body(**launch));
  }
  return (*launch)->end(status);
}

void printError(int64_t rank, const absl::Status &status) {
  fflush(stdout);
  writeError(errorText(rank, status));
}

} // namespace splitcast
