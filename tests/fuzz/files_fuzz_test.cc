// Damaged .npy and safetensors files: opening one must never crash, and what is accepted must be consistent.
//
// The mutations are drawn from fixed seeds, which are printed; a failure names its seed and iteration.
#include "runtime/io/Npy.h"
#include "runtime/io/Safetensors.h"
#include "runtime/io/TokenFile.h"
#include "tests/runtime/io/TempDir.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>

namespace splitcast::runtime {
namespace {

constexpr uint64_t kSeeds[] = {1, 20240607, 0x9E3779B97F4A7C15};
constexpr int kIterations = 3000;
constexpr std::chrono::milliseconds kLimit(2500); ///< of one format; three formats stay within 10 s

/// Draws that are the same with every standard library, unlike its distributions.
class Draw {
public:
  explicit Draw(uint64_t seed) : engine(seed) {}
  size_t below(size_t bound) { return bound ? engine() % bound : 0; }
  char byte() { return static_cast<char>(engine()); }

private:
  std::mt19937_64 engine;
};

/// One small damage: what a bad disk, a cut transfer or a wrong program does.
void mutate(std::string &bytes, Draw &draw) {
  static const char *const kTokens[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        "(",
                                        ")",
                                        ",",
                                        ":",
                                        "'",
                                        "\"",
                                        "-",
                                        "0",
                                        "1",
                                        "9",
                                        "F32",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "4294967296",
                                        "-1",
                                        "1e3",
                                        "\"a\":",
                                        "__metadata__",
                                        "true",
                                        "null",
                                        "\\u0000",
                                        "\xff",
                                        " ",
                                        "<f8",
                                        ">f4"};
  size_t at = draw.below(bytes.size() + 1), count = draw.below(9);
  switch (draw.below(9)) {
  case 0: // a bit
    if (at < bytes.size())
      bytes[at] ^= 1 << draw.below(8);
    break;
  case 1: // a byte
    if (at < bytes.size())
      bytes[at] = draw.byte();
    break;
  case 2:
    bytes.resize(at); // cut off
    break;
  case 3:
    bytes.append(count, draw.byte()); // too long
    break;
  case 4:
    bytes.erase(at, count);
    break;
  case 5:
    bytes.insert(at, bytes.substr(draw.below(bytes.size() + 1), count));
    break;
  case 6: // a digit becomes another: shapes, offsets
    at = bytes.find_first_of("0123456789", at);
    if (at != std::string::npos)
      bytes[at] = '0' + draw.below(10);
    break;
  case 7:
    bytes.insert(at, kTokens[draw.below(std::size(kTokens))]);
    break;
  case 8: { // a token in place of as many bytes
    std::string token = kTokens[draw.below(std::size(kTokens))];
    bytes.replace(at, std::min(token.size(), bytes.size() - at), token);
    break;
  }
  }
}

struct Outcome {
  int accepted = 0, refused = 0;
};

/// Runs `check`, which says whether it accepted the file, on mutated copies of `validFiles`.
template <typename Check> Outcome fuzz(const std::vector<std::string> &validFiles, const Check &check) {
  TempDir dir;
  Outcome outcome;
  auto end = std::chrono::steady_clock::now() + kLimit;
  for (uint64_t seed : kSeeds) {
    Draw draw(seed);
    int iteration = 0;
    for (; iteration < kIterations && std::chrono::steady_clock::now() < end; ++iteration) {
      std::string bytes = validFiles[draw.below(validFiles.size())];
      for (size_t damages = 1 + draw.below(3); damages > 0; --damages)
        mutate(bytes, draw);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", iteration " + std::to_string(iteration));
      ++(check(dir.write("fuzzed", bytes), bytes) ? outcome.accepted : outcome.refused);
      if (testing::Test::HasFailure())
        return outcome;
    }
    std::cout << "seed " << seed << ": " << iteration << " of " << kIterations << " iterations\n";
  }
  std::cout << outcome.accepted << " files accepted, " << outcome.refused << " refused\n";
  return outcome;
}

/// A refusal names the file and is one of the codes for bad files.
void expectRefusal(const absl::Status &status, const std::string &path) {
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("'" + path + "': "));
  EXPECT_TRUE(status.code() == absl::StatusCode::kDataLoss || status.code() == absl::StatusCode::kInvalidArgument)
      << status;
}

std::string written(const std::function<void(TempDir &)> &write) {
  TempDir dir;
  write(dir);
  return dir.read("file");
}

std::vector<std::string> validNpyFiles() {
  std::vector<std::string> files;
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::I8})
    for (std::vector<int64_t> rowShape : std::vector<std::vector<int64_t>>{{}, {3}, {2, 10}})
      files.push_back(written([&](TempDir &dir) {
        auto writer = NpyWriter::create(dir.path("file"), type, rowShape);
        std::string data(4 * 20 * bytesOf(type), 'd');
        EXPECT_TRUE(writer.ok() && writer->append(4, data.data()).ok() && writer->commit().ok());
      }));
  return files;
}

TEST(FilesFuzzTest, Npy) {
  Outcome outcome = fuzz(validNpyFiles(), [](const std::string &path, const std::string &bytes) {
    auto file = NpyFile::open(path);
    if (!file.ok()) {
      expectRefusal(file.status(), path);
      return false;
    }
    int64_t elements = 1;
    for (int64_t extent : file->shape())
      elements *= extent;
    EXPECT_EQ(elements, file->numElements());
    int64_t dataBytes = elements * bytesOf(file->type());
    // Of the file's start, NumPy's magic, version, length and dictionary are at least 10 + 40 bytes.
    EXPECT_LE(dataBytes + 50, static_cast<int64_t>(bytes.size()));
    std::string data(dataBytes, '?');
    EXPECT_TRUE(file->read(0, elements, data.data()).ok());
    EXPECT_EQ(data, bytes.substr(bytes.size() - dataBytes)) << "the data are not the file's last bytes";
    EXPECT_FALSE(file->read(0, elements + 1, data.data()).ok());
    return true;
  });
  EXPECT_GT(outcome.accepted, 0);
  EXPECT_GT(outcome.refused, 0);
}

std::vector<std::string> validSafetensorsFiles() {
  const std::vector<std::vector<TensorToStore>> lists = {
      {},
      {{"a", ElementType::F32, {2, 3}}},
      {{"a", ElementType::F32, {2, 3}}, {"b", ElementType::I8, {}}, {"c.weight", ElementType::F64, {0, 4}}},
      {{"x", ElementType::BF16, {5}}, {"y", ElementType::I1, {7}}, {"z", ElementType::I64, {1, 1, 2}}}};
  std::vector<std::string> files;
  for (const auto &tensors : lists)
    for (const std::map<std::string, std::string> &metadata :
         std::vector<std::map<std::string, std::string>>{{}, {{"format", "pt"}, {"step", "3"}}})
      files.push_back(written([&](TempDir &dir) {
        auto writer = SafetensorsWriter::create(dir.path("file"), tensors, metadata);
        ASSERT_TRUE(writer.ok()) << writer.status();
        std::string data(64, 'd');
        for (const TensorToStore &tensor : tensors) {
          int64_t elements = 1;
          for (int64_t extent : tensor.shape)
            elements *= extent;
          EXPECT_TRUE(writer->write(tensor.name, 0, data.data(), elements).ok());
        }
        EXPECT_TRUE(writer->commit().ok());
      }));
  return files;
}

/// The accepted file's tensors are exactly those of its header, read in a second way, and cover its data.
void expectConsistent(const SafetensorsFile &file, const std::string &bytes) {
  uint64_t headerBytes = 0;
  for (int i = 8; i-- > 0;)
    headerBytes = headerBytes << 8 | static_cast<unsigned char>(bytes[i]);
  ASSERT_LE(headerBytes, bytes.size() - 8);
  nlohmann::json header = nlohmann::json::parse(bytes.substr(8, headerBytes), nullptr, false);
  ASSERT_TRUE(header.is_object());
  EXPECT_EQ(header.size(), file.tensors().size() + header.count("__metadata__"));
  std::vector<bool> covered(bytes.size() - 8 - headerBytes);
  for (const StoredTensor &tensor : file.tensors()) {
    ASSERT_TRUE(header.contains(tensor.name));
    const nlohmann::json &entry = header[tensor.name];
    EXPECT_EQ(entry["dtype"], tensor.dtype);
    EXPECT_EQ(entry["shape"], tensor.shape);
    int64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1], elements = 1;
    for (int64_t extent : tensor.shape)
      elements *= extent;
    EXPECT_EQ(elements, tensor.elements);
    if (tensor.type) {
      EXPECT_EQ(elements * bytesOf(*tensor.type), end - begin);
      std::string data(end - begin, '?');
      EXPECT_TRUE(file.read(tensor.name, 0, elements, data.data()).ok());
      EXPECT_EQ(data, bytes.substr(8 + headerBytes + begin, end - begin));
    }
    for (int64_t byte = begin; byte < end; ++byte) {
      ASSERT_LT(byte, static_cast<int64_t>(covered.size()));
      EXPECT_FALSE(covered[byte]) << "two tensors share byte " << byte;
      covered[byte] = true;
    }
  }
  EXPECT_TRUE(std::all_of(covered.begin(), covered.end(), [](bool is) { return is; })) << "a byte of no tensor";
}

TEST(FilesFuzzTest, Safetensors) {
  Outcome outcome = fuzz(validSafetensorsFiles(), [](const std::string &path, const std::string &bytes) {
    auto file = SafetensorsFile::open(path);
    if (!file.ok())
      expectRefusal(file.status(), path);
    else
      expectConsistent(*file, bytes);
    return file.ok();
  });
  EXPECT_GT(outcome.accepted, 0);
  EXPECT_GT(outcome.refused, 0);
}

/// Values nested too deep to be parsed by recursion must not exhaust the stack or the memory.
TEST(FilesFuzzTest, DeepHeaders) {
  TempDir dir;
  for (const char *unit : {"[", "{\"a\":", "[{\"a\":"}) {
    std::string header = "{\"a\":";
    while (header.size() < 500'000)
      header += unit;
    std::string length(8, '\0');
    for (int i = 0; i < 8; ++i)
      length[i] = static_cast<char>(header.size() >> 8 * i & 0xff);
    auto file = SafetensorsFile::open(dir.write("deep", length + header));
    ASSERT_FALSE(file.ok());
    expectRefusal(file.status(), dir.path("deep"));
  }
}

/// Any bytes are tokens of one byte, at any window.
TEST(FilesFuzzTest, Tokens) {
  Outcome outcome = fuzz({"The quick brown fox\njumps over the lazy dog.\n", ""},
                         [](const std::string &path, const std::string &bytes) {
                           auto file = TokenFile::open(path, {}, 10);
                           if (!file.ok()) {
                             expectRefusal(file.status(), path);
                             EXPECT_LT(bytes.size(), 10u);
                             return false;
                           }
                           EXPECT_EQ(file->size(), static_cast<int64_t>(bytes.size()));
                           std::vector<int64_t> back(bytes.size() - 3, -1);
                           EXPECT_TRUE(file->read(3, static_cast<int64_t>(back.size()), back.data()).ok());
                           for (size_t i = 0; i < back.size(); ++i)
                             EXPECT_EQ(back[i], static_cast<unsigned char>(bytes[i + 3]));
                           return true;
                         });
  EXPECT_GT(outcome.accepted, 0);
  EXPECT_GT(outcome.refused, 0);
}

} // namespace
} // namespace splitcast::runtime
