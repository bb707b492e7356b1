#include "runtime/io/TokenFile.h"
#include "tests/runtime/io/TempDir.h"

namespace splitcast::runtime {
namespace {

using absl::StatusCode;

TEST(TokenFileTest, ReadsWindowsOfEachWidth) {
  TempDir dir;
  const std::vector<int64_t> expected = {0, 1, 255, 256, 65535, 65536, 0x12345678, 0xffffffff};
  for (const int64_t width : {1, 2, 4}) {
    const int64_t limit = int64_t{1} << (8 * width);
    std::vector<int64_t> tokens;
    std::string bytes;
    for (int64_t token : expected)
      if (token < limit) {
        tokens.push_back(token);
        for (int64_t byte = 0; byte < width; ++byte)
          bytes.push_back(static_cast<char>(token >> (8 * byte)));
      }
    auto file = TokenFile::open(dir.write("t", bytes), {width, limit}, static_cast<int64_t>(tokens.size()));
    ASSERT_TRUE(file.ok()) << file.status();
    const int64_t size = file->size();
    ASSERT_EQ(size, static_cast<int64_t>(tokens.size()));
    for (int64_t first = 0; first <= size; ++first)
      for (int64_t count = 0; first + count <= size; ++count) {
        std::vector<int64_t> window(count, -1);
        ASSERT_TRUE(file->read(first, count, window.data()).ok());
        EXPECT_EQ(window, std::vector<int64_t>(tokens.begin() + first, tokens.begin() + first + count));
      }
  }
}

TEST(TokenFileTest, ErrorsOfOpening) {
  TempDir dir;
  expectError(TokenFile::open(dir.path("none"), {}).status(), StatusCode::kNotFound,
              {dir.path("none"), "check the path"});
  expectError(TokenFile::open(dir.write("empty", ""), {}, 7).status(), StatusCode::kInvalidArgument,
              {dir.path("empty"), "is empty", "at least 7"});
  expectError(TokenFile::open(dir.write("short", "abc"), {}, 4).status(), StatusCode::kInvalidArgument,
              {dir.path("short"), "has 3 tokens", "at least 4", "longer file"});
  expectError(TokenFile::open(dir.write("odd", "abc"), {2, 1000}).status(), StatusCode::kInvalidArgument,
              {dir.path("odd"), "has 3 bytes", "no multiple of 2 bytes per token"});
}

TEST(TokenFileTest, ErrorsOfReading) {
  TempDir dir;
  auto file = TokenFile::open(dir.write("t", "abc"), {});
  ASSERT_TRUE(file.ok());
  int64_t tokens[8];
  for (auto [first, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 4}, {3, 1}, {4, 0}, {-1, 1}, {0, -1}, {INT64_MAX, INT64_MAX}, {1, INT64_MAX}})
    expectError(file->read(first, count, tokens), StatusCode::kInvalidArgument,
                {dir.path("t"), std::to_string(count) + " tokens from token " + std::to_string(first), "has 3"});
}

TEST(TokenFileTest, TokensOutsideOfTheVocabularyAreNamed) {
  TempDir dir;
  auto file = TokenFile::open(dir.write("t", std::string("\x01\x00\x05\x01", 4)), {2, 261});
  ASSERT_TRUE(file.ok());
  int64_t tokens[2];
  EXPECT_TRUE(file->read(0, 1, tokens).ok());
  expectError(file->read(0, 2, tokens), StatusCode::kInvalidArgument,
              {dir.path("t"), "has 261 as token 1", "the vocabulary has 261 tokens"});
}

TEST(TokenFileTest, FileThatShrinksIsAnError) {
  TempDir dir;
  auto file = TokenFile::open(dir.write("t", "abcdef"), {});
  ASSERT_TRUE(file.ok());
  dir.write("t", "ab");
  int64_t tokens[8];
  expectError(file->read(0, 6, tokens), StatusCode::kDataLoss, {dir.path("t"), "ends at byte 2", "cut off"});
}

} // namespace
} // namespace splitcast::runtime
