#include "runtime/io/InstalledFile.h"

#include "tests/runtime/io/TempDir.h"

#include <sys/stat.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMost = 100;

TEST(InstalledFile, IsReadIfNobodyElseMayWriteIt) {
  const TempDir dir;
  const std::string path = dir.write("code", "contents");
  for (const mode_t mode : {0644, 0600, 0755, 0444}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(readInstalledFile(path, kMost).value(), "contents");
  }
  fs::create_symlink(path, dir.path("link"));
  fs::create_hard_link(path, dir.path("second"));
  EXPECT_EQ(readInstalledFile(dir.path("link"), kMost).value(), "contents") << "installations have links";
  EXPECT_EQ(readInstalledFile(dir.path("second"), kMost).value(), "contents");
  EXPECT_EQ(readInstalledFile(path, 8).value(), "contents");
}

/// The program of this test is not writable by its group, so no file may be.
TEST(InstalledFile, IsRefusedIfOthersMayWriteIt) {
  const TempDir dir;
  const std::string path = dir.write("code", "contents");
  for (const auto &[mode, says] : {std::pair{0664, "664"}, {0646, "646"}, {0666, "666"}, {0622, "622"}}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    expectError(readInstalledFile(path, kMost).status(), absl::StatusCode::kFailedPrecondition,
                {"'" + path + "'", std::string("may be written by others (mode ") + says + ")"});
  }
}

TEST(InstalledFile, IsARegularFileOfABoundedLength) {
  const TempDir dir;
  const std::string fifo = dir.path("fifo"), empty = dir.write("empty", "");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string &path : {fifo, dir.path("."), std::string("/dev/null")})
    expectError(readInstalledFile(path, kMost).status(), absl::StatusCode::kFailedPrecondition,
                {"'" + path + "'", "is not a regular file"});
  expectError(readInstalledFile(dir.write("code", "contents"), 7).status(), absl::StatusCode::kFailedPrecondition,
              {"has 8 bytes, more than the 7 that are read"});
  expectError(readInstalledFile(dir.path("none"), kMost).status(), absl::StatusCode::kUnavailable,
              {dir.path("none"), "cannot be opened: No such file"});
  EXPECT_EQ(readInstalledFile(empty, kMost).value(), "");
}

TEST(InstalledFile, OfAnotherUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give files to others";
  const TempDir dir;
  const std::string path = dir.write("code", "contents");
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  expectError(readInstalledFile(path, kMost).status(), absl::StatusCode::kFailedPrecondition,
              {"belongs to user 65534, which is neither root nor this one"});
}

TEST(InstalledFile, RootsFilesAreEverybodys) {
  struct stat found{};
  ASSERT_EQ(::stat("/etc/passwd", &found), 0);
  ASSERT_EQ(found.st_uid, 0u);
  EXPECT_EQ(whyNotInstalled(found), "");
}

} // namespace
} // namespace splitcast::runtime
