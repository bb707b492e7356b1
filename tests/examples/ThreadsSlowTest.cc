//===- ThreadsSlowTest.cc - Neither threads nor transports change a bit -----------------===//
//
// The examples on 3 ranks, at sizes whose kernels, products and heads are divided: every stage with 1, 2 and 3 threads
// per rank, over the ranks' memory and over messages, such that each two values meet. All have the bits of the first.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace splitcast {
namespace {

constexpr char kText[] = "--text=/usr/share/common-licenses/GPL-3";
constexpr int64_t kRanks = 3;

struct Example {
  const char *name;
  Command command;
  std::string zero;
};

const std::vector<Example> &examples() {
  const Command gpt = {programPath("examples/gpt/gpt"),
                       kText,
                       "--layers=2",
                       "--width=192",
                       "--heads=3",
                       "--context=128",
                       "--batch=21",
                       "--dropout=0.1",
                       "--sample=0"};
  static const std::vector<Example> all = {
      {"recipe", {programPath("examples/recipe/recipe"), "--layers=3", "--width=1900", "--batch=20"}, ""},
      {"classifier", {programPath("examples/classifier/classifier"), "--hidden=60000"}, ""},
      {"text_model",
       {programPath("examples/text_model/text_model"), kText, "--batch=300", "--window=50", "--width=40",
        "--hidden=2000"},
       ""},
      {"gpt", gpt, ""},
      {"gpt_bf16", gpt, ",compute-type=bf16"}};
  return all;
}

class Threads : public ::testing::TestWithParam<Example> {};

TEST_P(Threads, ChangeNoBitAtAnyStageOverAnyTransport) {
  const Example &example = GetParam();
  const std::string directory = makeWorkDirectory();
  Trained first;
  for (int64_t stage = 0; stage < 4; ++stage)
    for (int64_t threads = 1; threads <= 3; ++threads) {
      const std::vector<std::string> way = {
          absl::StrCat("--threads=", threads), absl::StrCat("--enable-zero=stage=", stage, example.zero),
          absl::StrCat("--transport=", (stage + threads) % 2 ? "memory" : "messages")};
      const Trained found = train(directory, kRanks, with(with(example.command, way), {"--steps=3"}));
      ASSERT_FALSE(found.variables.empty());
      if (first.variables.empty())
        first = found;
      EXPECT_EQ(found.losses, first.losses) << way[0] << " " << way[1] << " " << way[2];
      EXPECT_TRUE(found.variables == first.variables) << way[0] << " " << way[1] << " " << way[2];
    }
}

INSTANTIATE_TEST_SUITE_P(Examples, Threads, ::testing::ValuesIn(examples()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace splitcast
