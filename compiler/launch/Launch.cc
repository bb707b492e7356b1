#include "compiler/launch/Launch.h"

#include "compiler/launch/Alike.h"

#include "compiler/launch/LaunchBackend.h"
#include "compiler/launch/Profile.h"
#include "compiler/launch/StandardOutput.h"
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

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <sched.h>
#include <unistd.h>

namespace splitcast {
namespace {

/// How long a rank that failed waits for the others before it ends the job.
constexpr double kFarewellSeconds = 2;

/// How long a rank that was told to end may take to report for which rank it
/// waited. mpirun kills it 0.9 s after the signal.
constexpr absl::Duration kSignalGrace = absl::Milliseconds(700);

absl::Duration toDuration(double seconds) { return absl::Seconds(seconds); }

/// Returns the processors that this process may use: how many, the machine, and
/// their numbers.
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

/// Returns the cache of kernels of this process. It is used by all processes
/// of a machine that return the same text, or by none.
std::string cacheText(const std::string &directory) {
  std::error_code error;
  return absl::StrCat(geteuid(), " ", std::filesystem::absolute(directory, error).string());
}

/// Returns the processors per rank if ranks with the same processors share
/// them: the least number of any rank.
int64_t sharedProcessors(const std::vector<std::string> &processors) {
  int64_t fewest = INT64_MAX;
  for (const std::string &text : processors) {
    int64_t count = 1;
    (void)absl::SimpleAtoi(text.substr(0, text.find(' ')), &count);
    fewest = std::min<int64_t>(fewest, count / std::count(processors.begin(), processors.end(), text));
  }
  return std::max<int64_t>(1, fewest);
}

/// Returns "OK", or the status as a text that decode() reads.
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

/// Returns the status of the first rank that failed.
absl::Status firstFailure(const std::vector<std::string> &statuses) {
  for (size_t rank = 0; rank < statuses.size(); ++rank)
    SPLITCAST_RETURN_IF_ERROR(decode(statuses[rank], static_cast<int64_t>(rank)));
  return absl::OkStatus();
}

/// Whether this process has reported its error.
std::atomic<bool> hasSaid = false;

std::string errorText(int64_t rank, const absl::Status &status) {
  std::string prefix = absl::StrCat("rank ", rank, ": error: ");
  std::string indent = absl::StrCat("\n", std::string(prefix.size(), ' '));
  return absl::StrCat(prefix, absl::StrReplaceAll(std::string(status.message()), {{"\n", indent}}), "\n");
}

/// Writes the text at once, so that the lines of several ranks do not mix.
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

/// What a rank does last if it was told to end and does not notice the signal
/// itself. (It does not touch stdout, to which the rank may be writing.)
void endWherever(const absl::Status &status) {
  runtime::removePendingFiles();
  if (!hasSaid)
    writeError(errorText(runtime::rankFromEnvironment(), status));
}

/// Ends this process from a thread beside the one that waits.
void endProcess(const absl::Status &status) {
  endWherever(status);
  _exit(1);
}

/// `endings` may be null; otherwise waits look there.
std::unique_ptr<runtime::Communicator> makeCommunicator(std::unique_ptr<runtime::Transport> transport, double seconds,
                                                        Endings *endings) {
  runtime::HostCommunicatorOptions options;
  options.timeout = toDuration(seconds);
  if (endings)
    options.hasEnded = [endings](int64_t rank) { return endings->hasEnded(rank); };
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
                  "how many seconds a rank waits for another before it is an error");
  flags.addInteger("threads", &threads, 0, 4096,
                   "threads per rank; 0: the ranks of a machine share its processors evenly");
  flags.addChoice("device", &deviceKind, launchBackends(), "the kind of device on which ranks compute");
  flags.addChoice("transport", &transport, {"memory", "messages"},
                  "how ranks of one machine exchange tensors: memory: each reads the others' memory, if the system "
                  "allows it; messages: as ranks of different machines do");
  flags.addString("kernel-cache", &kernelCache, "DIRECTORY",
                  "directory in which compiled kernels are kept; empty: they are not kept");
  flags.addString(
      "profile", &profile, "FILE.json",
      "measure how long each op of the plan takes: write a trace of all ranks for a browser's tracing page, and "
      "print a table");
  flags.addString(
      "reproducer", &reproducer, "FILE.mlir",
      "if a pass fails, each rank writes the module and the passes, rank 0 to FILE.mlir.0; if several fail, those "
      "of the last one; splitcast-opt FILE.mlir.0 --run-reproducer repeats the error");
  flags.addSwitch("perf-map", &perfMap,
                  "write the names of kernels and of oneDNN's code for Linux's perf to /tmp/perf-PID.map");
  flags.addSwitch(
      "any-order", &anyOrder,
      "let kernels add in any order, to see what the fixed order costs: bits then depend on the stage, the ranks and "
      "the machine, and no sum is exact");
  flags.addSwitch("no-collectives", &noCollectives,
                  "collectives move nothing and wait for no rank, to see what they cost in a step: results are then "
                  "wrong");
  for (const char *name : {"timeout", "kernel-cache", "perf-map", "reproducer"})
    flags.letDiffer(name);
  flags.letBeEmpty("kernel-cache");
}

std::vector<std::string> LaunchOptions::writtenFiles(int64_t rank) const {
  return {profile, reproducer.empty() ? "" : absl::StrCat(reproducer, ".", rank)};
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<Launch>> Launch::create(const LaunchOptions &options) {
  std::unique_ptr<Launch> launch(new Launch);
  launch->chosen = options;
  SPLITCAST_ASSIGN_OR_RETURN(launch->job, runtime::createJob(toDuration(options.timeoutSeconds), endProcess));
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
  options.warnsOfCache = warnsOfCache;
  options.localRank = localRank;
  options.localRanks = localRanks;
  options.timeout = toDuration(chosen.timeoutSeconds);
  options.memory = peerMemory->memory();
  options.endProcess = endProcess;
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
      return absl::InvalidArgumentError(absl::StrCat("--", name, " cannot be used with --device=", chosen.deviceKind,
                                                     ", whose kernels do not run on this machine's processor; leave "
                                                     "it out, or run with --device=cpu"));
  if (chosen.profile.empty())
    return absl::OkStatus();
  if (rank() == 0) // it is created once now, so that a wrong path is an error before hours of training
    SPLITCAST_RETURN_IF_ERROR(runtime::PendingFile::create(chosen.profile).status());
  if (!rankDevice)
    return absl::OkStatus();               // createDevice has failed
  constexpr int64_t kTracedRuns = 200'000; // of all ranks together, in a trace of about 80 MB
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::StreamClock> clock, rankDevice->createClock());
  profiler = std::make_unique<runtime::Profiler>(static_cast<size_t>(kTracedRuns / size()), std::move(clock));
  SPLITCAST_ASSIGN_OR_RETURN(peaks, peaksOf(*rankDevice, rankThreads));
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
  endings = std::make_unique<Endings>(*farewell);
  control = makeCommunicator(std::move(transports[1]), chosen.timeoutSeconds, endings.get());
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Transport> tensors, connectMemory(std::move(transports[2])));
  ranks = makeCommunicator(std::move(tensors), chosen.timeoutSeconds, endings.get());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<runtime::Transport>>
Launch::connectMemory(std::unique_ptr<runtime::Transport> messages) {
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Transport> answers, job->createTransport());
  // This is called whatever the flag says, since the ranks have not compared
  // their flags yet.
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<runtime::PeerMemory> memory,
                             runtime::PeerMemory::connect(*control, chosen.transport == "memory"));
  if (const std::string &why = memory->whatFailed(); !why.empty())
    note =
        absl::StrCat(why, "; these ranks exchange messages instead, which is slower. To read each other's memory, "
                          "processes need the same user, the same /proc, memfd_create, and no limit of their address "
                          "space; or use --transport=messages");
  peerMemory = std::move(memory);
  return runtime::createPullTransport(std::move(messages), std::move(answers), peerMemory);
}

absl::Status Launch::shareProcessors() {
  SPLITCAST_ASSIGN_OR_RETURN(
      std::vector<std::string> processors,
      control->exchange(absl::StrCat(processorsText(), "\n", cacheText(chosen.kernelCache)), {"start of the job"}));
  std::vector<std::string> machines, caches;
  for (std::string &text : processors) {
    const size_t end = text.find('\n');
    caches.push_back(text.substr(end + 1));
    text.resize(end);
    machines.push_back(text.substr(text.find(" of ") + 4, text.find(':') - text.find(" of ") - 4));
  }
  for (int64_t lower = 0; lower < rank(); ++lower)
    if (machines[lower] == machines[rank()] && caches[lower] == caches[rank()])
      warnsOfCache = false;
  localRanks = std::count(machines.begin(), machines.end(), machines[rank()]);
  localRank = std::count(machines.begin(), machines.begin() + rank(), machines[rank()]);
  rankThreads = static_cast<int>(chosen.threads > 0 ? chosen.threads : sharedProcessors(processors));
  return absl::OkStatus();
}

absl::Status Launch::agree(const absl::Status &mine, const runtime::CallSite &what) {
  absl::StatusOr<std::vector<std::string>> all = control->exchange(encode(mine), what);
  SPLITCAST_RETURN_IF_ERROR(mine);
  return all.ok() ? firstFailure(*all) : all.status();
}

absl::Status Launch::agreeAlike(const std::string &mine, const runtime::CallSite &what) {
  runtime::CallSite comparison = what;
  comparison.what = "comparison of " + what.what;
  absl::StatusOr<std::vector<std::string>> all = control->exchange(mine, comparison);
  return all.ok() ? checkAlike(*all, what.what) : all.status();
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
  // Collectives that are unfinished after an error use memory that is gone. So
  // end the communicators first.
  ranks = nullptr;
  control = nullptr;
  if (!status.ok())
    printError(rank(), status);
  const double patience = status.ok() ? chosen.timeoutSeconds : std::min(kFarewellSeconds, chosen.timeoutSeconds);
  if (status.ok())
    endings->tell();
  std::unique_ptr<runtime::Communicator> last = makeCommunicator(std::move(farewell), patience, nullptr);
  absl::StatusOr<std::vector<std::string>> all = last->exchange(encode(status), {"end of the job"});
  absl::Status outcome = !status.ok() ? status : all.ok() ? firstFailure(*all) : all.status();
  if (status.ok() && !outcome.ok())
    printError(rank(), outcome);
  if (!all.ok())
    job->abortJob(1);
  for (int64_t other = 0; other < size(); ++other) // so that nothing that was sent is left behind
    (void)endings->hasEnded(other);
  endings = nullptr; // its messages end before their transport, which `last` owns
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
  // The job is launched even if flags are wrong, so that the other ranks learn
  // of it.
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
  if (status.ok())
    status = flushOutput();
  return (*launch)->end(status);
}

void printError(int64_t rank, const absl::Status &status) {
  fflush(stdout);
  writeError(errorText(rank, status));
}

} // namespace splitcast
