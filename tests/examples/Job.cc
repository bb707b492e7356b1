#include "tests/examples/Job.h"

#include "tests/runtime/mpi/Processes.h"
#include "tests/runtime/mpi/SessionDirectory.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace splitcast {
namespace {

/// Runs as a rank: notes its process id, its output and its exit status in the directory $1, in which it finds its
/// variables, changes to $2 and runs the rest. It outlives SIGTERM, which mpirun sends to all ranks when one has
/// failed, to see how the program ends.
constexpr char kRankScript[] = R"(
notes=$1 directory=$2
shift 2
rank=${OMPI_COMM_WORLD_RANK:-${RANK:-0}}
[ ! -f "$notes/environment.$rank" ] || . "$notes/environment.$rank"
trap : TERM
(cd "$directory" && exec sh -c 'echo $$ >"$0" && exec "$@"' "$notes/pid.$rank" "$@") >"$notes/output.$rank" 2>&1
status=$?
echo $status >"$notes/status.$rank"
exit $status
)";

/// Starts the rest as $1 ranks that meet at port $2, and waits for them: the status of the last that failed.
constexpr char kVariablesScript[] = R"(
export WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$2
shift 2
for rank in $(seq 0 $((WORLD_SIZE - 1))); do
  RANK=$rank "$@" &
  pids="$pids $!"
done
status=0
for pid in $pids; do
  wait "$pid" || status=$?
done
exit $status
)";

/// Of 20000 ports one that tests at the same time hardly have, too.
int portOfThisProcess() { return 10000 + getpid() % 20000; }

std::vector<std::string> rankCommand(const Job &job, const std::string &notes, size_t index) {
  std::vector<std::string> words = {"sh", "-c", kRankScript, "rank", notes, job.directory};
  words.insert(words.end(), job.commands[index].begin(), job.commands[index].end());
  return words;
}

std::vector<std::string> launcherCommand(const Job &job, const std::string &notes, const std::string &session) {
  if (job.ranks == 0)
    return rankCommand(job, notes, 0);
  if (job.byVariables) {
    std::vector<std::string> words = {
        "sh", "-c", kVariablesScript, "launch", std::to_string(job.ranks), std::to_string(portOfThisProcess())};
    std::vector<std::string> rank = rankCommand(job, notes, 0);
    words.insert(words.end(), rank.begin(), rank.end());
    return words;
  }
  std::vector<std::string> words = mpirunWords(session);
  const int64_t ranksPerCommand = job.commands.size() == 1 ? job.ranks : 1;
  for (size_t i = 0; i < job.commands.size(); ++i) {
    if (i > 0)
      words.emplace_back(":");
    words.insert(words.end(), {"-n", std::to_string(ranksPerCommand)});
    std::vector<std::string> rank = rankCommand(job, notes, i);
    words.insert(words.end(), rank.begin(), rank.end());
  }
  return words;
}

/// Writes what kRankScript reads.
void writeEnvironments(const Job &job, const std::string &notes) {
  const int64_t ranks = job.environments.empty() ? 0 : std::max<int64_t>(1, job.ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::string text;
    for (const auto &[name, value] : job.environments.size() == 1 ? job.environments[0] : job.environments.at(rank)) {
      text += "export " + name + "='";
      for (char byte : value)
        text += byte == '\'' ? std::string(R"('\'')") : std::string(1, byte);
      text += "'\n";
    }
    writeFile(notes + "/environment." + std::to_string(rank), text);
  }
}

int numberIn(const std::string &path, int otherwise) {
  std::istringstream text(readFile(path));
  int number = otherwise;
  return text >> number ? number : otherwise;
}

std::map<int64_t, int> pidsOf(const std::string &notes, int64_t ranks) {
  std::map<int64_t, int> pids;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (int pid = numberIn(notes + "/pid." + std::to_string(rank), 0); pid > 0)
      pids[rank] = pid;
  return pids;
}

/// The number of bytes that the ranks and their launcher have written.
uintmax_t bytesWritten(const std::string &notes) {
  uintmax_t bytes = 0;
  for (const auto &entry : std::filesystem::directory_iterator(notes)) {
    std::error_code gone; // another's file may be renamed or removed at any time
    const uintmax_t size = entry.file_size(gone);
    bytes += gone ? 0 : size;
  }
  return bytes;
}

/// Whether a job has exceeded one of its limits.
class Limits {
public:
  explicit Limits(const Job &job, const std::string &notes) : job(job), notes(notes) {}

  bool exceeded() {
    const Clock::time_point now = Clock::now();
    if (const uintmax_t size = bytesWritten(notes); size != bytes) {
      bytes = size;
      lastWord = now;
    }
    return seconds(now - begin) > job.limitSeconds || seconds(now - lastWord) > job.silenceSeconds;
  }

private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

  const Job &job;
  const std::string &notes;
  const Clock::time_point begin = Clock::now();
  Clock::time_point lastWord = begin;
  uintmax_t bytes = 0;
};

/// The exit status of `child`, or -1 when it did not end in time.
int waitOrKill(pid_t child, const Job &job, const std::string &notes) {
  Limits limits(job, notes);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::map<int64_t, int> pids = pidsOf(notes, std::max<int64_t>(1, job.ranks));
    if (job.watch)
      job.watch(pids);
    if (limits.exceeded()) {
      for (auto [rank, pid] : pids)
        kill(pid, SIGKILL);
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

bool JobResult::succeeded() const {
  return exitStatus == 0 &&
         std::all_of(rankStatuses.begin(), rankStatuses.end(), [](int status) { return status == 0; });
}

std::string JobResult::describe() const {
  std::ostringstream text;
  text << "exit status " << exitStatus << " after " << seconds << " s\n" << output;
  for (size_t rank = 0; rank < rankStatuses.size(); ++rank)
    text << "--- rank " << rank << ": exit status " << rankStatuses[rank] << "\n" << rankOutputs[rank];
  return text.str();
}

JobResult runJob(const Job &job) {
  std::string notes = makeDirectory();
  writeEnvironments(job, notes);
  SessionDirectory session;
  JobResult result;
  auto begin = std::chrono::steady_clock::now();
  pid_t child = startProcess(launcherCommand(job, notes, session.path()), notes + "/launcher");
  if (child > 0)
    result.exitStatus = waitOrKill(child, job, notes);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.output = readFile(notes + "/launcher");
  for (int64_t rank = 0; rank < std::max<int64_t>(1, job.ranks); ++rank) {
    result.rankStatuses.push_back(numberIn(notes + "/status." + std::to_string(rank), -1));
    result.rankOutputs.push_back(readFile(notes + "/output." + std::to_string(rank)));
  }
  std::filesystem::remove_all(notes);
  return result;
}

std::string makeDirectory() {
  const char *base = std::getenv("TEST_TMPDIR");
  std::string path = std::string(base ? base : "/tmp") + "/job.XXXXXX";
  return mkdtemp(path.data()) ? path : "";
}

std::string programPath(const std::string &target) { return std::filesystem::absolute(target).string(); }

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

char processState(int pid) {
  const std::string stat = readFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t name = stat.rfind(") ");
  return name == std::string::npos ? '\0' : stat[name + 2];
}

void writeFile(const std::string &path, const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

std::map<std::string, std::string> snapshot(const std::string &directory) {
  std::map<std::string, std::string> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(directory)) {
    std::string name = std::filesystem::relative(entry.path(), directory).string();
    if (entry.is_directory())
      files[name + "/"] = "";
    else
      files[name] = readFile(entry.path().string());
  }
  return files;
}

} // namespace splitcast
