// That nothing of a checkpoint can change without being found.
#include "compiler/launch/CheckpointManifest.h"
#include "runtime/io/File.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace splitcast {
namespace {

std::string pathOf(const std::string &name) { return testing::TempDir() + "/" + name; }

void writeAll(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

CheckpointManifest someManifest(const std::string &path, int64_t bytes) {
  CheckpointManifest manifest;
  manifest.step = 120;
  manifest.seed = 7;
  manifest.bytes = bytes;
  manifest.blockBytes = 1000;
  manifest.digests = digestsOfBlocks(path, bytes, manifest.blockBytes, 0, 1).value();
  manifest.validationLoss = 0.1;
  return manifest;
}

std::string randomBytes(int64_t count) {
  std::mt19937 random(4);
  std::string bytes(count, '\0');
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

TEST(CheckpointManifest, EveryByteCounts) {
  const std::string path = pathOf("data");
  writeAll(path, randomBytes(2500));
  const CheckpointManifest manifest = someManifest(path, 2500);
  const std::string text = manifest.text();
  absl::StatusOr<CheckpointManifest> read = CheckpointManifest::parse(text, "m.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->text(), text);
  EXPECT_EQ(read->step, 120);
  EXPECT_EQ(read->seed, 7);
  EXPECT_EQ(read->validationLoss, 0.1);
  EXPECT_EQ(read->digests, manifest.digests);
  for (size_t at = 0; at < text.size(); ++at)
    for (int flip : {1, 2, 4, 0x10, 0x20, 0x80}) {
      std::string wrong = text;
      wrong[at] = static_cast<char>(wrong[at] ^ flip);
      EXPECT_FALSE(CheckpointManifest::parse(wrong, "m.json").ok()) << at << ": " << wrong;
    }
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(CheckpointManifest::parse(text.substr(0, size), "m.json").ok()) << size;
  EXPECT_FALSE(CheckpointManifest::parse(text + "\n", "m.json").ok());
}

TEST(CheckpointManifest, ThousandFlippedBytesOfVariables) {
  const std::string path = pathOf("data"), bytes = randomBytes(12345);
  writeAll(path, bytes);
  const CheckpointManifest manifest = someManifest(path, 12345);
  EXPECT_EQ(manifest.digests.size(), 13U);
  std::mt19937 random(9);
  for (int i = 0; i < 1000; ++i) {
    std::string wrong = bytes;
    const size_t at = random() % wrong.size();
    wrong[at] = static_cast<char>(wrong[at] ^ (1 + random() % 255));
    writeAll(path, wrong);
    int differ = 0;
    for (int64_t rank = 0; rank < 3; ++rank) { // each looks at its own blocks
      const auto digests = digestsOfBlocks(path, 12345, 1000, rank, 3);
      ASSERT_TRUE(digests.ok());
      for (size_t k = 0; k < digests->size(); ++k)
        differ += (*digests)[k] != manifest.digests[rank + 3 * k];
    }
    EXPECT_EQ(differ, 1) << at;
  }
}

TEST(CheckpointManifest, OtherSizes) {
  const std::string path = pathOf("data");
  writeAll(path, "");
  EXPECT_EQ(digestsOfBlocks(path, 0, 1000, 0, 1)->size(), 0U);
  for (int64_t wrong : {1, 1000})
    EXPECT_EQ(digestsOfBlocks(path, wrong, 1000, 0, 1).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(digestsOfBlocks(pathOf("missing"), 0, 1000, 0, 1).status().code(), absl::StatusCode::kNotFound);
}

TEST(CheckpointManifest, ANewerVersionSaysSo) {
  const absl::Status status = CheckpointManifest::parse("{\"format\": 3}", "m.json").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "'m.json': has format 3, which a newer version wrote; this version reads up to 2: use the newer version, or "
      "an older checkpoint");
}

} // namespace
} // namespace splitcast
