#include "runtime/io/OwnDirectory.h"

#include "tests/runtime/io/TempDir.h"

#include <fcntl.h>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

mode_t modeOf(const std::string &path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

/// Opens and reads, and returns the first error.
absl::Status statusOfReading(const std::string &path, const std::string &name, int64_t maxBytes = 100) {
  const auto directory = OwnDirectory::open(path);
  return directory.ok() ? directory->read(name, maxBytes).status() : directory.status();
}

/// Runs this in a process of another user. Returns whether it held.
bool asNobody(const std::function<bool()> &holds) {
  const pid_t child = fork();
  if (child == 0)
    _exit(::setgid(kNobody) == 0 && ::setuid(kNobody) == 0 && holds() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(OwnDirectory, IsPrivateWhateverTheUmask) {
  const TempDir dir;
  for (const mode_t mask : {0, 022, 0277}) {
    const std::string top = dir.path("top" + std::to_string(mask)), path = top + "/a/kernels";
    const mode_t before = ::umask(mask);
    const auto own = OwnDirectory::open(path + "/");
    const absl::Status written = own.ok() ? own->write("x", "contents") : own.status();
    ::umask(before);
    ASSERT_TRUE(written.ok()) << written;
    for (const std::string &made : {top, top + "/a", path})
      EXPECT_EQ(modeOf(made), 0700u) << made;
    EXPECT_EQ(modeOf(path + "/x"), 0600u);
    EXPECT_EQ(own->read("x", 8).value(), "contents");
    EXPECT_EQ(own->read("y", 8).value(), std::nullopt);
    EXPECT_EQ(own->names(), std::vector<std::string>{"x"});
  }
}

TEST(OwnDirectory, IsNotOneThatOthersMayWrite) {
  const TempDir dir;
  const std::string path = dir.path("d");
  fs::create_directory(path);
  for (const mode_t mode : {0770, 0720, 0702, 0777, 01777, 02775}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    expectError(OwnDirectory::open(path).status(), absl::StatusCode::kFailedPrecondition,
                {"'" + path + "'", "others may have written to it", "chmod go-w"});
    EXPECT_EQ(modeOf(path), mode) << "it is not changed behind its user's back";
  }
  for (const mode_t mode : {0700, 0755, 0750}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto own = OwnDirectory::open(path);
    ASSERT_TRUE(own.ok()) << own.status();
    EXPECT_EQ(modeOf(path), mode);
    own->makePrivate();
    EXPECT_EQ(modeOf(path), 0700u);
  }
  fs::create_directory_symlink(path, dir.path("link"));
  for (const char *name : {"link", "link/", "link//"})
    expectError(OwnDirectory::open(dir.path(name)).status(), absl::StatusCode::kFailedPrecondition,
                {"is a symbolic link, not a directory"});
  fs::create_directory_symlink("missing", dir.path("dangling"));
  EXPECT_FALSE(OwnDirectory::open(dir.path("dangling")).ok());
  expectError(OwnDirectory::open(dir.write("file", "")).status(), absl::StatusCode::kFailedPrecondition,
              {"is a regular file, not a directory"});
  EXPECT_EQ(OwnDirectory::open(dir.path("file") + "/below").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(OwnDirectory::open(dir.path("link") + "/below").ok()) << "links above it are followed";
}

TEST(OwnDirectory, ReadsOnlyFilesOfItsOwn) {
  const TempDir dir;
  const std::string path = dir.path("d"), file = path + "/x", aside = dir.write("aside", "contents");
  ASSERT_TRUE(OwnDirectory::open(path).ok());
  struct Plant {
    const char *says;
    std::function<void()> make;
  };
  const std::vector<Plant> plants = {{"is a FIFO", [&] { ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0); }},
                                     {"is a symbolic link", [&] { fs::create_symlink(aside, file); }},
                                     {"is a symbolic link", [&] { fs::create_symlink("missing", file); }},
                                     {"has 2 names", [&] { fs::create_hard_link(aside, file); }},
                                     {"is a directory", [&] { fs::create_directory(file); }},
                                     {"is a socket", [&] { ASSERT_EQ(::mknod(file.c_str(), S_IFSOCK | 0600, 0), 0); }},
                                     {"has mode 620",
                                      [&] {
                                        std::ofstream(file) << "contents";
                                        fs::permissions(file, fs::perms(0620));
                                      }},
                                     {"has mode 602",
                                      [&] {
                                        std::ofstream(file) << "contents";
                                        fs::permissions(file, fs::perms(0602));
                                      }},
                                     {"more than the 100 that are read", [&] {
                                        std::ofstream(file) << "contents";
                                        fs::resize_file(file, int64_t{1} << 40);
                                      }}};
  for (const Plant &plant : plants) {
    plant.make();
    expectError(statusOfReading(path, "x"), absl::StatusCode::kFailedPrecondition, {"'" + file + "'", plant.says});
    const bool isDirectory = fs::is_directory(fs::symlink_status(file));
    const auto own = OwnDirectory::open(path);
    ASSERT_TRUE(own.ok());
    EXPECT_EQ(own->write("x", "new").ok(), !isDirectory);
    if (!isDirectory)
      EXPECT_EQ(own->read("x", 3).value(), "new") << plant.says;
    EXPECT_EQ(own->names().size(), 1u) << "no temporary file is left";
    EXPECT_EQ(dir.read("aside"), "contents");
    fs::remove(file);
  }
}

TEST(OwnDirectory, OfAnotherUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  std::string root = "/tmp/own_directory.XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  ASSERT_EQ(::chmod(root.c_str(), 0777), 0);
  const std::string theirs = root + "/theirs", ours = root + "/ours";
  // Each takes its own and refuses the other's; root, too.
  EXPECT_TRUE(asNobody([&] {
    const auto own = OwnDirectory::open(theirs);
    return own.ok() && own->write("x", "evil").ok() && own->read("x", 4).value() == "evil";
  }));
  expectError(statusOfReading(theirs, "x"), absl::StatusCode::kFailedPrecondition,
              {"belongs to user 65534, but this process runs as user 0", "use one of your own"});
  const auto own = OwnDirectory::open(ours);
  ASSERT_TRUE(own.ok() && own->write("x", "contents").ok());
  ASSERT_EQ(::chmod(ours.c_str(), 0755), 0);
  EXPECT_TRUE(
      asNobody([&] { return OwnDirectory::open(ours).status().code() == absl::StatusCode::kFailedPrecondition; }));
  // A file that another user has put there while it was possible.
  ASSERT_EQ(::chown((ours + "/x").c_str(), kNobody, kNobody), 0);
  expectError(statusOfReading(ours, "x"), absl::StatusCode::kFailedPrecondition, {"belongs to user 65534"});
  // Who moves another directory to its place gets nothing read: the directory that is open stays the one it was.
  fs::rename(ours, root + "/moved");
  fs::rename(theirs, ours);
  ASSERT_TRUE(own->write("y", "mine").ok());
  EXPECT_TRUE(fs::exists(root + "/moved/y"));
  fs::remove_all(root);
}

TEST(OwnDirectory, RemovesOldFilesOnly) {
  const TempDir dir;
  const auto own = OwnDirectory::open(dir.path("d"));
  ASSERT_TRUE(own.ok() && own->write("old", "").ok() && own->write("new", "").ok());
  fs::last_write_time(dir.path("d/old"), fs::file_time_type::clock::now() - std::chrono::hours(2));
  for (const char *name : {"old", "new", "missing"})
    own->removeIfOlder(name, 3600);
  EXPECT_EQ(own->names(), std::vector<std::string>{"new"});
}

TEST(OwnFile, ForAppending) {
  const TempDir dir;
  for (int i = 0; i < 2; ++i) {
    const auto file = openOwnFileForAppending(dir.path("x"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(::write(*file, "ab", 2), 2);
    ::close(*file);
  }
  EXPECT_EQ(dir.read("x"), "abab");
  EXPECT_EQ(modeOf(dir.path("x")), 0600u);
  fs::create_symlink(dir.path("x"), dir.path("link"));
  expectError(openOwnFileForAppending(dir.path("link")).status(), absl::StatusCode::kUnavailable,
              {"is a symbolic link; remove it"});
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(openOwnFileForAppending(dir.path("fifo")).ok());
  EXPECT_EQ(dir.read("x"), "abab");
}

} // namespace
} // namespace splitcast::runtime
