#include "runtime/io/TextFile.h"
#include "tests/runtime/io/TempDir.h"

namespace splitcast::runtime {
namespace {

using absl::StatusCode;

TEST(TextTest, ReadsWindows) {
  TempDir dir;
  auto text = TextFile::open(dir.write("t", "hello\nworld"), 11);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->sizeBytes(), 11);
  for (int64_t offset = 0; offset <= 11; ++offset)
    for (int64_t bytes = 0; offset + bytes <= 11; ++bytes) {
      std::string window(bytes, '?');
      ASSERT_TRUE(text->read(offset, bytes, window.data()).ok());
      EXPECT_EQ(window, std::string("hello\nworld").substr(offset, bytes));
    }
}

TEST(TextTest, ErrorsOfOpening) {
  TempDir dir;
  expectError(TextFile::open(dir.path("none")).status(), StatusCode::kNotFound, {dir.path("none"), "check the path"});
  expectError(TextFile::open(dir.write("empty", ""), 7).status(), StatusCode::kInvalidArgument,
              {dir.path("empty"), "is empty", "at least 7 bytes"});
  expectError(TextFile::open(dir.write("short", "abc"), 4).status(), StatusCode::kInvalidArgument,
              {dir.path("short"), "has 3 bytes", "at least 4", "longer text"});
}

TEST(TextTest, ErrorsOfReading) {
  TempDir dir;
  auto text = TextFile::open(dir.write("t", "abc"));
  ASSERT_TRUE(text.ok());
  char bytes[8];
  for (auto [offset, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 4}, {3, 1}, {4, 0}, {-1, 1}, {0, -1}, {INT64_MAX, INT64_MAX}, {1, INT64_MAX}})
    expectError(text->read(offset, count, bytes), StatusCode::kInvalidArgument,
                {dir.path("t"), std::to_string(count) + " bytes from byte " + std::to_string(offset), "has 3 bytes"});
}

TEST(TextTest, FileThatShrinksIsAnError) {
  TempDir dir;
  auto text = TextFile::open(dir.write("t", "abcdef"));
  ASSERT_TRUE(text.ok());
  dir.write("t", "ab");
  char bytes[8];
  expectError(text->read(0, 6, bytes), StatusCode::kDataLoss, {dir.path("t"), "ends at byte 2", "cut off"});
}

} // namespace
} // namespace splitcast::runtime
