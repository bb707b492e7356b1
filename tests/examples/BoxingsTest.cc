// Boxings between real processes: a seeded sample of those that tests/differential runs all of, by every transport.
#include "runtime/io/Npy.h"
#include "tests/differential/BoxingModule.h"
#include "tests/examples/Job.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace splitcast {
namespace {

using differential::BoxingModule;
using differential::BoxingPair;

constexpr size_t kSample = 40;

class BoxingsTest : public testing::TestWithParam<BoxingModule> {
protected:
  std::vector<BoxingPair> sample() {
    std::vector<BoxingPair> pairs = GetParam().allPairs();
    std::shuffle(pairs.begin(), pairs.end(), engine);
    pairs.resize(std::min(pairs.size(), kSample));
    return pairs;
  }

  /// Writes integers, of one step, and says what their sum over the first dimension is.
  std::vector<float> writeArgument(const std::string &path) {
    std::vector<float> values(sbp::numElements(GetParam().argumentShape()));
    const size_t elements = values.size() / BoxingModule::kAddends;
    std::vector<float> sums(elements);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(engine() % 64);
      sums[i % elements] += values[i];
    }
    auto writer = runtime::NpyWriter::create(path, runtime::ElementType::F32, GetParam().argumentShape());
    EXPECT_TRUE(writer.ok() && writer->append(/*rows=*/1, values.data()).ok() && writer->commit().ok());
    return sums;
  }

  std::mt19937 engine{11};
};

TEST_P(BoxingsTest, GiveTheSameTensor) {
  const std::string directory = makeDirectory();
  const std::vector<BoxingPair> pairs = sample();
  writeFile(directory + "/boxings.mlir", GetParam().oneFunction(pairs));
  const std::vector<float> sums = writeArgument(directory + "/x.npy");
  int64_t ranks = 1;
  for (int64_t size : GetParam().mesh)
    ranks *= size;
  for (const char *transport : {"memory", "messages"}) {
    Command command = {programPath("compiler/tools/splitcast-run"), "boxings.mlir",
                       absl::StrCat("--transport=", transport)};
    for (size_t i = 0; i < pairs.size(); ++i) {
      command.push_back(absl::StrCat("--input=arg", i, "=x.npy"));
      command.push_back(absl::StrCat("--output=result", i, "=", transport, i, ".npy"));
    }
    const JobResult result = runJob({.commands = {command}, .ranks = ranks, .directory = directory});
    ASSERT_TRUE(result.succeeded()) << result.describe();
    for (size_t i = 0; i < pairs.size(); ++i) {
      auto file = runtime::NpyFile::open(absl::StrCat(directory, "/", transport, i, ".npy"));
      ASSERT_TRUE(file.ok()) << file.status();
      std::vector<float> found(sums.size());
      ASSERT_TRUE(file->read(0, static_cast<int64_t>(found.size()), found.data()).ok());
      EXPECT_EQ(found, sums) << pairs[i].text() << " by " << transport;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, BoxingsTest,
                         testing::Values(BoxingModule{{3}, {7, 2}}, BoxingModule{{2, 2}, {5, 3}},
                                         BoxingModule{{2, 3}, {7, 5}}, BoxingModule{{2, 2, 2}, {11, 3}}));

} // namespace
} // namespace splitcast
