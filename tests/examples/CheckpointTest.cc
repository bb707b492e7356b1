//===- CheckpointTest.cc - Training that goes on where it was -----------------------===//
#include "runtime/io/Safetensors.h"
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mount.h>

#include <filesystem>

namespace splitcast {
namespace {

constexpr char kBase[] = "--enable-zero=reproducible=yes,stage=";

/// A GPT of twelve micro-batches in all, whose bits are those of any ranks.
Command gptOf(int64_t ranks, const std::string &zero, int64_t steps, const std::vector<std::string> &arguments) {
  return with({programPath("examples/gpt/gpt"), "--text=text", "--layers=1", "--heads=2", "--width=12", "--context=6",
               "--batch=24", "--dropout=0.25", "--sample=0", "--clip-norm=0.5", "--schedule=cosine,steps=12,warmup=2",
               absl::StrCat("--steps=", steps), absl::StrCat("--accumulate=", 12 / ranks), kBase + zero},
              arguments);
}

std::set<std::string> namesIn(const std::string &directory) {
  std::set<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(Checkpoint, GoesOnAtAnotherStageOnOtherRanks) {
  const std::string directory = makeWorkDirectory();
  const Trained whole = train(directory, 3, gptOf(3, "0", 6, {}));
  // Steps 1 and 2, then 3 and 4 otherwise, then the rest: each from the newest checkpoint of the one before.
  JobResult first = runIn(directory, 3, gptOf(3, "2", 2, {"--checkpoint=c", "--checkpoint-every=1", "--keep=1"}));
  ASSERT_TRUE(first.succeeded()) << first.describe();
  EXPECT_EQ(namesIn(directory + "/c"),
            (std::set<std::string>{"job-000000001.json", "step-000000002.json", "step-000000002.safetensors"}));
  JobResult second = runIn(
      directory, 4,
      gptOf(4, "3,strategy=tensor", 4, {"--checkpoint=c", "--resume=c", "--checkpoint-every=2", "--metrics=m.jsonl"}));
  ASSERT_TRUE(second.succeeded()) << second.describe();
  EXPECT_EQ(namesIn(directory + "/c"),
            (std::set<std::string>{"job-000000002.json", "step-000000002.json", "step-000000002.safetensors",
                                   "step-000000004-job-2.json", "step-000000004-job-2.safetensors"}));
  const Trained rest = train(directory, 2, gptOf(2, "1", 6, {"--resume=c"}));
  EXPECT_EQ(rest.variables, whole.variables);
  EXPECT_TRUE(absl::EndsWith(whole.losses, rest.losses)) << rest.losses;
  EXPECT_EQ(std::count(rest.losses.begin(), rest.losses.end(), '\n'), 2);
  EXPECT_TRUE(absl::StartsWith(readFile(directory + "/m.jsonl"), "{\"step\":3,"));
}

/// A disk of 100 KiB, of which a checkpoint takes 60: the second is an error of all ranks, and the first is there.
TEST(Checkpoint, AFullDiskLeavesTheOneBefore) {
  const std::string directory = makeWorkDirectory(), disk = directory + "/disk";
  std::filesystem::create_directory(disk);
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=100k") != 0)
    GTEST_SKIP() << "this process may not mount a small disk";
  const JobResult full = runIn(directory, 3, gptOf(3, "2", 6, {"--checkpoint=disk/c", "--checkpoint-every=2"}));
  EXPECT_FALSE(full.succeeded());
  EXPECT_TRUE(absl::StrContains(full.describe(), "No space left on device; free space or take another directory"))
      << full.describe();
  EXPECT_EQ(namesIn(disk + "/c"),
            (std::set<std::string>{"job-000000001.json", "step-000000002.json", "step-000000002.safetensors"}));
  const Trained rest = train(directory, 3, gptOf(3, "2", 6, {"--resume=disk/c"}));
  EXPECT_EQ(rest.variables, train(directory, 3, gptOf(3, "2", 6, {})).variables);
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

/// A checkpoint that was damaged is named, and the one before it taken.
TEST(Checkpoint, DamagedOnesAreLeftOut) {
  const std::string directory = makeWorkDirectory();
  const Trained whole = train(directory, 3, gptOf(3, "2", 6, {"--checkpoint=c", "--checkpoint-every=2", "--keep=3"}));
  const std::string data = directory + "/c/step-000000006.safetensors", manifest = directory + "/c/step-000000006.json";
  const std::string goodData = readFile(data), goodManifest = readFile(manifest);
  std::string flipped = goodData;
  flipped[flipped.size() / 2] ^= 4;
  const std::vector<std::pair<std::string, std::string>> damages = {
      {flipped, goodManifest},
      {goodData.substr(0, goodData.size() - 1), goodManifest},
      {goodData, goodManifest.substr(0, goodManifest.size() / 2)},
      {goodData, ""}};
  for (const auto &[dataNow, manifestNow] : damages) {
    writeFile(data, dataNow);
    writeFile(manifest, manifestNow);
    const JobResult result = runIn(directory, 3, gptOf(3, "1", 6, {"--resume=c", "--save-variables=again"}));
    ASSERT_TRUE(result.succeeded()) << result.describe();
    EXPECT_TRUE(absl::StrContains(result.describe(), "checkpoint of step 6 is skipped")) << result.describe();
    EXPECT_EQ(readFile(directory + "/again"), whole.variables);
  }
  // The damaged one is of a step to come: it does not push out what is whole.
  const JobResult result =
      runIn(directory, 3, gptOf(3, "1", 5, {"--resume=c", "--checkpoint=c", "--checkpoint-every=5", "--keep=1"}));
  ASSERT_TRUE(result.succeeded()) << result.describe();
  EXPECT_EQ(namesIn(directory + "/c"), (std::set<std::string>{"job-000000002.json", "step-000000005-job-2.json",
                                                              "step-000000005-job-2.safetensors"}));
}

/// By a rate that lets the loss grow, the first is the best; it is kept beside the newest, also by a job that goes on.
TEST(Checkpoint, TheOneOfTheLeastValidationLossIsKept) {
  const std::string directory = makeWorkDirectory();
  const Command gpt = {programPath("examples/gpt/gpt"),
                       "--text=text",
                       "--validation=text",
                       "--layers=1",
                       "--heads=2",
                       "--width=12",
                       "--context=6",
                       "--batch=24",
                       "--sample=0",
                       "--optimizer=sgd",
                       "--lr=2000",
                       "--validate-every=1",
                       "--validation-batches=2",
                       "--checkpoint=c",
                       "--checkpoint-every=1",
                       "--keep=1"};
  const JobResult first = runIn(directory, 2, with(gpt, {"--steps=3"}));
  ASSERT_TRUE(first.succeeded()) << first.describe();
  const auto kept = [](const char *job, const char *newest) {
    std::set<std::string> names = {job};
    for (const char *name : {"step-000000001", newest})
      for (const char *suffix : {".json", ".safetensors"})
        names.insert(absl::StrCat(name, suffix));
    return names;
  };
  EXPECT_EQ(namesIn(directory + "/c"), kept("job-000000001.json", "step-000000003"));
  EXPECT_TRUE(absl::StrContains(readFile(directory + "/c/step-000000001.json"), "\"validation_loss\": "));
  const JobResult second = runIn(directory, 3, with(gpt, {"--steps=5", "--resume=c", "--enable-zero=stage=3"}));
  ASSERT_TRUE(second.succeeded()) << second.describe();
  EXPECT_EQ(namesIn(directory + "/c"), kept("job-000000002.json", "step-000000005-job-2"));
}

struct Refused {
  const char *name;
  std::vector<std::string> arguments;
  std::vector<std::string> says;
};

TEST(Checkpoint, WhatIsRefused) {
  const std::string directory = makeWorkDirectory();
  const JobResult made =
      runIn(directory, 2, gptOf(2, "0", 2, {"--checkpoint=c", "--checkpoint-every=2", "--save-variables=v"}));
  ASSERT_TRUE(made.succeeded()) << made.describe();
  const std::string manifest = readFile(directory + "/c/step-000000002.json");
  std::filesystem::create_directories(directory + "/newer");
  writeFile(directory + "/newer/step-000000002.json", "{\"format\": 3}");
  for (const Refused &refused : std::vector<Refused>{
           {"another directory's", {"--checkpoint=c"}, {"'c'", "step 2", "--resume=c"}},
           {"nothing there", {"--resume=missing"}, {"'missing'", "no complete checkpoint", "leave out --resume"}},
           {"another seed", {"--resume=c", "--seed=5"}, {"--seed=0", "seed 5", "--load-variables="}},
           {"another rate",
            {"--resume=c", "--lr=0.5"},
            {"step-000000002.safetensors", "optimizer.learning_rate is 0.0006 in the file, but 0.5 here",
             "--rates=saved to go on with 0.0006", "--rates=command to go on with 0.5"}},
           {"another rate of a group's flag", {"--resume=c", "--optimizer=adamw,lr=0.25"}, {"0.0006", "0.25"}},
           {"another rate for a file", {"--load-variables=v", "--lr=0.5"}, {"'v'", "0.0006 in the file, but 0.5 here"}},
           {"no such choice", {"--resume=c", "--rates=mine"}, {"--rates is 'mine'", "saved or command"}},
           {"fewer steps", {"--resume=c", "--steps=1"}, {"has done 2 steps", "--steps is 1"}},
           {"another model", {"--resume=c", "--width=8"}, {"step-000000002.safetensors", "the variable is f32"}},
           {"two sources", {"--resume=c", "--load-variables=v"}, {"--load-variables=v", "--resume=c", "one of them"}},
           {"a newer version", {"--resume=newer"}, {"format 3", "newer version"}},
           {"nothing to rename", {"--rename=a=b"}, {"--rename", "without --load-weights"}},
           {"two stars", {"--rename=a*b*=c*"}, {"--rename is 'a*b*=c*'", "one * each, or none"}},
           {"no directory", {"--checkpoint=text/c"}, {"text/c", "cannot be created"}}}) {
    Command command = gptOf(2, "0", 3, {});
    for (const std::string &argument : refused.arguments) { // in place of what it says otherwise
      const std::string name = argument.substr(0, argument.find('=') + 1);
      command.erase(std::remove_if(command.begin(), command.end(),
                                   [&](const std::string &other) { return absl::StartsWith(other, name); }),
                    command.end());
      command.push_back(argument);
    }
    const JobResult result = runIn(directory, 2, command);
    EXPECT_FALSE(result.succeeded()) << refused.name;
    for (int status : result.rankStatuses)
      EXPECT_EQ(status, 1) << refused.name;
    for (const std::string &text : refused.says)
      EXPECT_TRUE(absl::StrContains(result.describe(), text)) << refused.name << ": " << text << result.describe();
  }
  EXPECT_EQ(readFile(directory + "/c/step-000000002.json"), manifest);
}

/// As a file of a model hub: other names, no state, and something more.
void writeHubFile(const std::string &from, const std::string &to) {
  auto file = runtime::SafetensorsFile::open(from);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<runtime::TensorToStore> tensors = {{"mask", runtime::ElementType::F32, {2}}};
  std::map<std::string, std::string> sources;
  for (const runtime::StoredTensor &tensor : file->tensors()) {
    const bool isState = absl::StrContains(tensor.name, ".exp_avg") || absl::StartsWith(tensor.name, "optimizer.") ||
                         tensor.shape.empty();
    if (isState)
      continue;
    tensors.push_back({"hub." + tensor.name, *tensor.type, tensor.shape});
    sources[tensors.back().name] = tensor.name;
  }
  auto writer = runtime::SafetensorsWriter::create(to, tensors);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const runtime::TensorToStore &tensor : tensors) {
    int64_t elements = 1;
    for (int64_t extent : tensor.shape)
      elements *= extent;
    std::vector<float> values(elements);
    if (sources.count(tensor.name)) {
      ASSERT_TRUE(file->read(sources[tensor.name], 0, elements, values.data()).ok());
    }
    ASSERT_TRUE(writer->write(tensor.name, 0, values.data(), elements).ok());
  }
  ASSERT_TRUE(writer->commit().ok());
}

TEST(Weights, LoadWithFreshState) {
  const std::string directory = makeWorkDirectory();
  const Trained begun = train(directory, 3, gptOf(3, "0", 3, {})), first = train(directory, 3, gptOf(3, "0", 0, {}));
  writeFile(directory + "/begun", begun.variables);
  writeHubFile(directory + "/begun", directory + "/hub");
  for (const char *zero : {"0", "3", "2,strategy=tensor"}) {
    const Trained loaded = train(directory, 3, gptOf(3, zero, 0, {"--load-weights=hub", "--rename=hub.*=*"}));
    writeFile(directory + "/first", first.variables);
    writeFile(directory + "/loaded", loaded.variables);
    for (const auto &[path, isOfWeights] : {std::pair("/begun", true), std::pair("/first", false)}) {
      auto expected = runtime::SafetensorsFile::open(directory + path);
      auto actual = runtime::SafetensorsFile::open(directory + "/loaded");
      ASSERT_TRUE(expected.ok() && actual.ok());
      for (const runtime::StoredTensor &tensor : expected->tensors()) {
        const bool isWeight = !absl::StrContains(tensor.name, ".exp_avg") && !tensor.shape.empty();
        if (isWeight != isOfWeights)
          continue;
        std::string wanted(tensor.elements * runtime::bytesOf(*tensor.type), '\0'), got = wanted;
        ASSERT_TRUE(expected->read(tensor.name, 0, tensor.elements, wanted.data()).ok());
        ASSERT_TRUE(actual->read(tensor.name, 0, tensor.elements, got.data()).ok());
        EXPECT_EQ(got, wanted) << zero << ": " << tensor.name;
      }
    }
  }
  const JobResult said = runIn(directory, 2, gptOf(2, "1", 0, {"--load-weights=hub", "--rename=hub.*=*"}));
  EXPECT_TRUE(absl::StrContains(said.describe(), "1 tensor is not used: mask")) << said.describe();
  const JobResult unnamed = runIn(directory, 2, gptOf(2, "1", 0, {"--load-weights=hub"}));
  EXPECT_FALSE(unnamed.succeeded());
  EXPECT_TRUE(absl::StrContains(unnamed.describe(), "'hub' has no tensor")) << unnamed.describe();
}

/// More is trained than when the file was saved: its state begins anew, all else goes on, at any stage.
TEST(Weights, OfAModelThatTrainsMore) {
  const std::string directory = makeWorkDirectory();
  writeFile(directory + "/frozen", train(directory, 3, gptOf(3, "2", 3, {"--freeze=h0.up.*"})).variables);
  std::set<std::string> losses, variables;
  for (const char *zero : {"0", "3,strategy=whole"}) {
    const Trained more = train(directory, 3, gptOf(3, zero, 2, {"--load-known=frozen"}));
    losses.insert(more.losses);
    variables.insert(more.variables);
  }
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_EQ(variables.size(), 1U);
  const JobResult said = runIn(directory, 2, gptOf(2, "1", 0, {"--load-known=frozen"}));
  EXPECT_TRUE(absl::StrContains(said.describe(), "'frozen': 4 variables begin anew: "
                                                 "h0.up.bias.exp_avg, h0.up.bias.exp_avg_sq, "
                                                 "h0.up.weight.exp_avg, h0.up.weight.exp_avg_sq"))
      << said.describe();
  writeFile(directory + "/all", *variables.begin());
  // With no state in common, counts and rates begin anew: the first update is that of fresh adapters.
  const std::vector<std::string> fresh = {"--adapters=1", "--load-known=all", "--save-variables=fresh"};
  const JobResult adapted = runIn(directory, 2, gptOf(2, "1", 0, fresh));
  EXPECT_TRUE(absl::StrContains(adapted.describe(), "optimizer.beta1_power, ")) << adapted.describe();
  const JobResult less = runIn(directory, 2, gptOf(2, "1", 0, {"--load-known=all", "--freeze=h0.up.bias"}));
  EXPECT_TRUE(absl::StrContains(less.describe(), "'all': 2 tensors are not used: h0.up.bias.exp_avg, "
                                                 "h0.up.bias.exp_avg_sq"))
      << less.describe();
}

constexpr char kModule[] = R"(
#p = #sbp.placement<"cpu", [dp = 2]>
sbp.variable @w : tensor<5xf32> init #sbp.constant<1.0>
func.func @train() -> (tensor<f32> {sbp.name = "loss"}) {
  %w = sbp.read @w : tensor<5xf32>
  %0 = nn.mul %w, %w : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %loss = nn.reduce_sum %0 {dims = array<i64: 0>} : (tensor<5xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.125>
  return %loss : tensor<f32>
}
)";

TEST(Checkpoint, OfSplitcastRun) {
  const std::string directory = makeDirectory();
  writeFile(directory + "/module.mlir",
            std::string("module attributes {sbp.placement = #sbp.placement<\"cpu\", [dp = 2]>} {") +
                (std::strchr(kModule + 1, '\n') + 1) + "}");
  const Command run = {programPath("compiler/tools/splitcast-run"), "module.mlir", "--enable-zero=stage=2"};
  for (const std::vector<std::string> &arguments :
       std::vector<std::vector<std::string>>{{"--steps=5", "--save-variables=whole"},
                                             {"--steps=3", "--checkpoint=c", "--checkpoint-every=3"},
                                             {"--steps=5", "--resume=c", "--save-variables=rest"}}) {
    const JobResult result = runIn(directory, 2, with(run, arguments));
    ASSERT_TRUE(result.succeeded()) << result.describe();
  }
  EXPECT_EQ(readFile(directory + "/rest"), readFile(directory + "/whole"));
}

} // namespace
} // namespace splitcast
