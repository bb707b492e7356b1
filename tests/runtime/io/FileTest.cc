#include "runtime/io/File.h"
#include "tests/runtime/io/TempDir.h"

#include <sys/stat.h>

namespace splitcast::runtime {
namespace {

using absl::StatusCode;

TEST(FileTest, ReadsAndWritesRanges) {
  TempDir dir;
  auto file = File::create(dir.path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->writeAt(3, 4, "wxyz").ok());
  ASSERT_TRUE(file->writeAt(0, 3, "abc").ok());
  char bytes[5] = {};
  ASSERT_TRUE(file->readAt(2, 4, bytes).ok());
  EXPECT_STREQ(bytes, "cwxy");
  EXPECT_EQ(*file->sizeBytes(), 7);
  ASSERT_TRUE(file->resize(9).ok());
  EXPECT_EQ(dir.read("a"), std::string("abcwxyz\0\0", 9));
  ASSERT_TRUE(file->sync().ok());
}

TEST(FileTest, SecondWriterOfAnExistingFile) {
  TempDir dir;
  auto file = File::openForWriting(dir.write("a", "0123"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->writeAt(1, 2, "xy").ok());
  EXPECT_EQ(dir.read("a"), "0xy3");
  expectError(File::openForWriting(dir.path("b")).status(), StatusCode::kNotFound, {dir.path("b"), "check the path"});
}

TEST(FileTest, MovedFileStaysOpen) {
  TempDir dir;
  auto first = File::openForReading(dir.write("a", "first"));
  auto second = File::openForReading(dir.write("b", "other"));
  ASSERT_TRUE(first.ok() && second.ok());
  *first = std::move(*second);
  char byte = 0;
  ASSERT_TRUE(first->readAt(0, 1, &byte).ok());
  EXPECT_EQ(byte, 'o');
  EXPECT_EQ(first->path(), dir.path("b"));
}

TEST(FileTest, ErrorsOfOpening) {
  TempDir dir;
  expectError(File::openForReading(dir.path("none")).status(), StatusCode::kNotFound,
              {dir.path("none"), "cannot be opened", "No such file", "check the path"});
  expectError(File::openForReading(dir.path("")).status(), StatusCode::kInvalidArgument,
              {dir.path(""), "is a directory", "regular file"});
  ASSERT_EQ(mkfifo(dir.path("pipe").c_str(), 0600), 0);
  expectError(File::openForReading(dir.path("pipe")).status(), StatusCode::kInvalidArgument,
              {dir.path("pipe"), "a pipe", "regular file"});
  expectError(File::create(dir.write("there", "x")).status(), StatusCode::kFailedPrecondition,
              {dir.path("there"), "cannot be created", "File exists", "remove it"});
}

TEST(FileTest, ErrorsOfReading) {
  TempDir dir;
  auto file = File::openForReading(dir.write("a", "0123456789"));
  ASSERT_TRUE(file.ok());
  char bytes[20];
  expectError(file->readAt(8, 5, bytes), StatusCode::kDataLoss, {dir.path("a"), "ends at byte 10", "up to 13"});
  expectError(file->readAt(-1, 5, bytes), StatusCode::kInvalidArgument, {dir.path("a"), "from byte -1", "at least 0"});
  expectError(file->readAt(0, -5, bytes), StatusCode::kInvalidArgument, {"-5 bytes"});
  expectError(file->readAt(INT64_MAX, 1, bytes), StatusCode::kInvalidArgument, {"at most 2^63 - 1"});
  expectError(file->writeAt(0, 1, bytes), StatusCode::kUnavailable, {dir.path("a"), "cannot be written"});
}

TEST(PendingFileTest, TakesItsNameAtCommit) {
  TempDir dir;
  dir.write("a", "old");
  auto pending = PendingFile::create(dir.path("a"));
  ASSERT_TRUE(pending.ok()) << pending.status();
  ASSERT_TRUE(pending->file().writeAt(0, 3, "new").ok());
  EXPECT_EQ(dir.read("a"), "old");
  EXPECT_EQ(dir.contents().size(), 2u);
  ASSERT_TRUE(pending->commit().ok());
  EXPECT_EQ(dir.contents(), (std::map<std::string, std::string>{{"a", "new"}}));
  expectError(pending->commit(), StatusCode::kFailedPrecondition, {dir.path("a"), "committed", "create a new one"});
}

TEST(PendingFileTest, LeavesNothingWithoutCommit) {
  TempDir dir;
  dir.write("a", "old");
  auto before = dir.contents();
  {
    auto pending = PendingFile::create(dir.path("a"));
    ASSERT_TRUE(pending.ok());
    PendingFile moved = std::move(*pending);
    ASSERT_TRUE(moved.file().writeAt(0, 3, "new").ok());
  }
  EXPECT_EQ(dir.contents(), before);
}

TEST(PendingFileTest, SeveralAtOnceHaveDifferentNames) {
  TempDir dir;
  auto first = PendingFile::create(dir.path("a")), second = PendingFile::create(dir.path("a"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->temporaryPath(), second->temporaryPath());
}

TEST(PendingFileTest, Errors) {
  TempDir dir;
  expectError(PendingFile::create(dir.path("none/a")).status(), StatusCode::kNotFound,
              {dir.path("none/a"), "cannot be created", "check the path"});
  std::filesystem::create_directory(dir.path("d"));
  expectError(PendingFile::create(dir.path("d")).status(), StatusCode::kInvalidArgument,
              {dir.path("d"), "is a directory", "regular file"});
}

TEST(PendingFileTest, FailedCommitLeavesNothing) {
  TempDir dir;
  auto pending = PendingFile::create(dir.path("a"));
  ASSERT_TRUE(pending.ok());
  std::filesystem::create_directory(dir.path("a"));
  auto status = pending->commit();
  expectError(status, StatusCode::kUnavailable, {dir.path("a"), "cannot take the place of", "check its type"});
  EXPECT_EQ(dir.contents().size(), 1u);
}

} // namespace
} // namespace splitcast::runtime
