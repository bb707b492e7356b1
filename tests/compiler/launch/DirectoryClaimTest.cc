#include "compiler/launch/DirectoryClaim.h"

#include "tests/runtime/io/TempDir.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {
int linkError = 0;              ///< what link(2) fails with; 0: it works
int linksAsked = 0;             ///< how often it was called
int linksUntilFull = 0;         ///< with its so many-th call, the disk is full: files stay empty; 0: never
std::optional<rlimit> fullDisk; ///< the limit of file sizes before that
} // namespace

/// Stands for the system's, in this program.
extern "C" int link(const char *from, const char *to) noexcept {
  ++linksAsked;
  if (linksUntilFull > 0 && --linksUntilFull == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    fullDisk = limit;
    limit.rlim_cur = 0;
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (linkError == 0)
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
  errno = linkError;
  return -1;
}

namespace splitcast {
namespace {

namespace fs = std::filesystem;

class DirectoryClaimTest : public testing::Test {
protected:
  DirectoryClaimTest() {
    directory =
        absl::StrCat(testing::TempDir(), "/claim_", testing::UnitTest::GetInstance()->current_test_info()->name());
    std::replace(directory.begin() + static_cast<int64_t>(testing::TempDir().size()) + 1, directory.end(), '/', '_');
    fs::remove_all(directory);
    fs::create_directory(directory);
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto &entry : fs::directory_iterator(directory))
      found.insert(entry.path().filename().string());
    return found;
  }
  absl::StatusOr<DirectoryClaim> take(int64_t above = 0) const {
    return DirectoryClaim::take(directory, above, [] { return absl::OkStatus(); });
  }
  void takeAtTheSameTime();
  std::string directory;
};

TEST_F(DirectoryClaimTest, TheLatestOwnsIt) {
  auto first = take();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->number(), 1);
  EXPECT_EQ(first->check(), absl::OkStatus());
  auto second = take();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->number(), 2);
  EXPECT_EQ(second->check(), absl::OkStatus());
  const absl::Status lost = first->check();
  EXPECT_EQ(lost.code(), absl::StatusCode::kFailedPrecondition);
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  for (const std::string &part :
       {absl::StrCat("'", directory, "': now belongs to job 2 (process ", getpid(), " on host ", host, ", begun 20"),
        std::string("this one, job 1 (process "), std::string("give each job a directory of its own")})
    EXPECT_TRUE(absl::StrContains(lost.message(), part)) << part << ": " << lost;
  EXPECT_EQ(take(7)->number(), 8) << "files of job 7 are there";
}

TEST_F(DirectoryClaimTest, OtherRanksOfTheJob) {
  auto claim = take();
  ASSERT_TRUE(claim.ok()) << claim.status();
  auto joined = DirectoryClaim::join(directory, claim->describe());
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->number(), 1);
  EXPECT_EQ(joined->check(), absl::OkStatus());
  const std::string elsewhere = directory + "/elsewhere";
  fs::create_directory(elsewhere);
  const absl::Status other = DirectoryClaim::join(elsewhere, claim->describe()).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(other.message(), "a directory that all hosts share")) << other;
  EXPECT_EQ(DirectoryClaim::join(directory, "").status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(take().ok());
  EXPECT_EQ(joined->check().code(), absl::StatusCode::kFailedPrecondition);
}

/// A file that is missing, or another's of the same number, is no claim; nor is one that cannot be read a reason to go
/// on.
TEST_F(DirectoryClaimTest, FilesThatSomebodyChanged) {
  auto claim = take();
  ASSERT_TRUE(claim.ok()) << claim.status();
  fs::remove(directory + "/job-000000001.json");
  EXPECT_TRUE(absl::StrContains(claim->check().message(), "is gone, so the directory may belong to another job"));
  auto other = take();
  ASSERT_EQ(other->number(), 1);
  EXPECT_TRUE(absl::StrContains(claim->check().message(), "now belongs to job 1 "));
  claim->giveBack(); // which it no longer has
  EXPECT_EQ(other->check(), absl::OkStatus());
  other->giveBack();
  EXPECT_TRUE(names().empty());
  for (const char *text : {"", "{", "[]", "{\"job\": []}"}) {
    std::ofstream(directory + "/job-000000044.json") << text;
    EXPECT_TRUE(absl::StrContains(other->check().message(), "now belongs to job 44 (process unknown on host")) << text;
  }
  ASSERT_EQ(mkfifo((directory + "/job-000000045.json").c_str(), 0600), 0);
  EXPECT_TRUE(absl::StrContains(other->check().message(), "now belongs to job 45 (process unknown on host"));
  EXPECT_EQ(DirectoryClaim::take(directory + "/missing", 0, [] { return absl::OkStatus(); }).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(DirectoryClaimTest, LeftByKilledJobs) {
  for (const char *name : {"job-abc.partial", "job-def.partial"})
    std::ofstream(directory + "/" + name) << "x";
  fs::last_write_time(directory + "/job-abc.partial", fs::file_time_type::clock::now() - std::chrono::hours(2));
  const auto first = take(), second = take();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(names().size(), 4u);
  second->removeEarlier();
  EXPECT_EQ(names(), (std::set<std::string>{"job-000000002.json", "job-def.partial"}));
  EXPECT_TRUE(absl::StrContains(first->check().message(), "now belongs to job 2 "));
}

/// A job that finds that it must not begin leaves the directory to the one before.
TEST_F(DirectoryClaimTest, GivenBack) {
  const auto first = take(), second = take();
  ASSERT_TRUE(second.ok()) << second.status();
  second->giveBack();
  EXPECT_EQ(first->check(), absl::OkStatus());
  for (int refusedAt : {1, 2}) {
    int calls = 0;
    const auto mayTake = [&] { return ++calls == refusedAt ? absl::CancelledError("no") : absl::OkStatus(); };
    EXPECT_EQ(DirectoryClaim::take(directory, 0, mayTake).status(), absl::CancelledError("no"));
    EXPECT_EQ(calls, refusedAt);
    EXPECT_EQ(first->check(), absl::OkStatus());
    EXPECT_EQ(names().size(), 1u);
  }
}

/// Many processes at once: each gets a number of its own, and one is the owner at the end.
void DirectoryClaimTest::takeAtTheSameTime() {
  constexpr int kProcesses = 24;
  int gate[2], results[2];
  ASSERT_EQ(pipe(gate), 0);
  ASSERT_EQ(pipe(results), 0);
  for (int i = 0; i < kProcesses; ++i)
    if (fork() == 0) {
      char byte = 0;
      close(gate[1]);
      (void)!read(gate[0], &byte, 1); // until all have begun
      auto claim = take();
      if (claim.ok())
        claim->removeEarlier();
      const int64_t number = claim.ok() ? claim->number() : 0;
      (void)!write(results[1], &number, sizeof(number));
      _exit(0);
    }
  close(gate[1]);
  std::set<int64_t> numbers;
  for (int i = 0; i < kProcesses; ++i) {
    int64_t number = 0;
    ASSERT_EQ(read(results[0], &number, sizeof(number)), static_cast<ssize_t>(sizeof(number)));
    numbers.insert(number);
  }
  while (wait(nullptr) > 0)
    ;
  EXPECT_EQ(numbers.size(), static_cast<size_t>(kProcesses));
  EXPECT_EQ(numbers.count(0), 0u);
  EXPECT_TRUE(names().count(absl::StrFormat("job-%09d.json", *numbers.rbegin())))
      << *numbers.rbegin(); // some take several
}

TEST_F(DirectoryClaimTest, TakenAtTheSameTime) { takeAtTheSameTime(); }

/// A file system without hard links (FAT, many FUSE ones), which says so in one of these ways.
class WithoutLinks : public DirectoryClaimTest, public testing::WithParamInterface<int> {
protected:
  WithoutLinks() { linkError = GetParam(); }
  ~WithoutLinks() override { linkError = 0; }
};

INSTANTIATE_TEST_SUITE_P(Errors, WithoutLinks, testing::Values(EPERM, EOPNOTSUPP, ENOSYS, EMLINK));

TEST_P(WithoutLinks, NumbersAreTakenAllTheSame) {
  const int asked = linksAsked;
  const auto first = take();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(linksAsked, asked) << "the test does not replace link(2)";
  EXPECT_EQ(names(), std::set<std::string>{"job-000000001.json"}) << "and nothing partial";
  EXPECT_EQ(first->check(), absl::OkStatus());
  EXPECT_EQ(DirectoryClaim::join(directory, first->describe())->number(), 1);
  const auto second = take();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->number(), 2);
  EXPECT_TRUE(absl::StrContains(first->check().message(), "now belongs to job 2 (process "));
  second->giveBack();
  EXPECT_EQ(first->check(), absl::OkStatus());
}

TEST_P(WithoutLinks, TakenAtTheSameTime) { takeAtTheSameTime(); }

/// Another took the number since the directory was listed: the next one is tried, and its file stays as it was.
TEST_P(WithoutLinks, ANumberThatIsTaken) {
  const std::string other = directory + "/job-000000001.json";
  int calls = 0;
  const auto claim = DirectoryClaim::take(directory, 0, [&] {
    if (++calls == 1)
      std::ofstream(other) << "another's";
    return absl::OkStatus();
  });
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(claim->number(), 2);
  std::string found;
  std::ifstream(other) >> found;
  EXPECT_EQ(found, "another's");
}

/// A disk that is full: the directory must not belong to a job that does not begin.
TEST_P(WithoutLinks, AFullDiskLeavesNothing) {
  const auto first = take();
  ASSERT_TRUE(first.ok()) << first.status();
  linksUntilFull = 1;
  const absl::Status status = take().status();
  const rlimit wide = std::exchange(fullDisk, std::nullopt).value();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &wide), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(names(), std::set<std::string>{"job-000000001.json"});
  EXPECT_EQ(first->check(), absl::OkStatus());
}

} // namespace
} // namespace splitcast
