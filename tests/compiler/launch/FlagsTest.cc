#include "compiler/launch/LaunchFlags.h"

#include "compiler/Compile.h"
#include "compiler/tools/RunFlags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitcast {
namespace {

using ::testing::HasSubstr;

absl::Status parse(Flags &flags, std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "program");
  return flags.parse(static_cast<int>(arguments.size()), arguments.data());
}

struct Values {
  std::string name = "none", kind = "a", file;
  int64_t count = 7;
  double rate = 0.5;
  bool isOn = false;
  std::vector<std::string> list;
  Flags flags{"program", "FILE [flags]\nDoes nothing."};

  Values() {
    flags.addString("name", &name, "NAME", "a name");
    flags.addChoice("kind", &kind, {"a", "b"}, "a kind");
    flags.addInteger("count", &count, -1, 10, "a count");
    flags.addNumber("rate", &rate, 0, 1, "a rate");
    flags.addSwitch("on", &isOn, "a switch");
    flags.addParsed("item", "ITEM", "an item", true, [this](const std::string &text) {
      list.push_back(text);
      return absl::OkStatus();
    });
    flags.addPositional("FILE", &file);
  }
};

TEST(Flags, BothForms) {
  Values v;
  ASSERT_TRUE(parse(v.flags, {"--name=x=y", "--kind", "b", "file", "--count=-1", "--rate", "0.25", "--on", "--item=1",
                              "--item", "2"})
                  .ok());
  EXPECT_EQ(v.name, "x=y");
  EXPECT_EQ(v.kind, "b");
  EXPECT_EQ(v.file, "file");
  EXPECT_EQ(v.count, -1);
  EXPECT_EQ(v.rate, 0.25);
  EXPECT_TRUE(v.isOn);
  EXPECT_THAT(v.list, ::testing::ElementsAre("1", "2"));
  EXPECT_TRUE(v.flags.isGiven("name"));
}

TEST(Flags, DefaultsStay) {
  Values v;
  ASSERT_TRUE(parse(v.flags, {"file", "--name="}).ok());
  EXPECT_EQ(v.name, "");
  EXPECT_EQ(v.count, 7);
  EXPECT_FALSE(v.flags.isGiven("count"));
}

TEST(Flags, Errors) {
  struct Case {
    std::vector<const char *> arguments;
    const char *expected;
  };
  for (const Case &c : {Case{{"file", "--nam=x"}, "unknown flag '--nam'; did you mean '--name'? --help lists all ("},
                        Case{{"file", "--completelyother"},
                             "unknown flag '--completelyother'; --help lists all (help(splitcast.init), in Python)"},
                        Case{{"file", "--count=11"}, "--count is '11'; it must be an integer from -1 to 10"},
                        Case{{"file", "--count=-2"}, "integer from -1 to 10"},
                        Case{{"file", "--count=1x"}, "--count is '1x'"}, Case{{"file", "--count="}, "--count is ''"},
                        Case{{"file", "--rate=nan"}, "--rate is 'nan'; it must be a number from 0 to 1"},
                        Case{{"file", "--rate=1.01"}, "a number from 0 to 1"},
                        Case{{"file", "--kind=c"}, "--kind is 'c'; it must be a or b"},
                        Case{{"file", "--on", "--on"}, "--on is given twice"},
                        Case{{"file", "--on=yes"}, "--on takes no value, but has 'yes'"},
                        Case{{"file", "--name"}, "--name has no value; write --name=NAME"},
                        Case{{}, "no FILE is given; usage: program FILE [flags]"},
                        Case{{"file", "other"}, "unexpected argument 'other'"}}) {
    Values v;
    absl::Status status = parse(v.flags, c.arguments);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.expected));
  }
}

TEST(Flags, HelpListsAll) {
  Values v;
  ASSERT_TRUE(parse(v.flags, {"--wrong", "--help"}).ok());
  EXPECT_TRUE(v.flags.isHelpWanted());
  for (const char *expected : {"usage: program FILE [flags]", "--name=NAME", "--kind=a|b", "a count (7)", "  --on "})
    EXPECT_THAT(v.flags.help(), HasSubstr(expected));
}

TEST(Flags, EnableZero) {
  auto parsed = [](const std::string &text, sbp::ZeroOptions *zero) {
    Flags flags("program", "");
    flags.addZero(zero);
    const std::string argument = "--enable-zero=" + text;
    return parse(flags, {argument.c_str()});
  };
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
  EXPECT_EQ(zero.policy.stage(), 0);
  ASSERT_TRUE(parsed("stage=3,strategy=bucket,bucket-bytes=4096,axis=tp", &zero).ok());
  EXPECT_EQ(zero.policy.stage(), 3);
  EXPECT_EQ(zero.policy.strategy(), sbp::Strategy::Bucket);
  EXPECT_EQ(zero.policy.bucketBytes(), 4096);
  EXPECT_EQ(zero.axis, "tp");
  ASSERT_TRUE(parsed("strategy=tensor keep=always, prefetch=0", &zero).ok());
  EXPECT_EQ(zero.policy.stage(), 2);
  EXPECT_EQ(zero.policy.strategy(), sbp::Strategy::Tensor);
  EXPECT_EQ(zero.policy.keep(), sbp::Keep::Always);
  EXPECT_EQ(zero.policy.prefetch(), 0);
  EXPECT_EQ(zero.policy.bucketBytes(), 0);
  EXPECT_EQ(zero.axis, "");
  for (const char *wrong : {"", "stage", "stage=", "stage=-1", "stage=2,", "stage=1,stage=1", "3", "bucket-bytes=-1",
                            "strategy=tensor,bucket-bytes=1", "stage=2,,keep=last", "keep-last=false"})
    EXPECT_FALSE(parsed(wrong, &zero).ok()) << wrong;
  EXPECT_EQ(zero.policy.stage(), 2); // errors change nothing
}

TEST(Flags, AccumulateCountsWhereverItStands) {
  for (const std::vector<const char *> &given :
       std::vector<std::vector<const char *>>{{"--accumulate=6"},
                                              {"--enable-zero=accumulate=6"},
                                              {"--enable-zero=stage=0,accumulate=3", "--accumulate=6"},
                                              {"--accumulate=6", "--enable-zero=stage=0,accumulate=3"}}) {
    sbp::ZeroOptions zero = CompileOptions::withoutZero();
    Flags flags("program", "");
    flags.addZero(&zero);
    ASSERT_TRUE(parse(flags, given).ok());
    EXPECT_EQ(zero.accumulate, 6);
    EXPECT_EQ(zero.policy.stage(), given.front() == std::string("--enable-zero=accumulate=6") ? 2 : 0);
  }
  for (const char *wrong : {"--accumulate=0", "--accumulate=-2", "--accumulate=two", "--accumulate="}) {
    sbp::ZeroOptions zero;
    Flags flags("program", "");
    flags.addZero(&zero);
    EXPECT_EQ(parse(flags, {wrong}).message(),
              std::string("--accumulate is '") + (std::strchr(wrong, '=') + 1) + "'; it must be a number from 1 on");
  }
}

TEST(Flags, WhatRanksCompare) {
  std::string directory, file;
  double seconds = 1;
  int64_t steps = 1;
  Flags flags("program", "");
  flags.addString("cache", &directory, "DIRECTORY", "");
  flags.addString("text", &file, "FILE.txt", "");
  flags.addNumber("timeout", &seconds, 0, 10, "");
  flags.addInteger("steps", &steps, 0, 10, "");
  flags.addParsed("input", "NAME=FILE.npy", "", true, [](const std::string &) { return absl::OkStatus(); });
  flags.addParsed("options", "OPTION=VALUE,...", "", false, [](const std::string &) { return absl::OkStatus(); });
  flags.letDiffer("timeout");
  ASSERT_TRUE(parse(flags, {"--timeout=3", "--input=y=b.npy", "--input=x=a.npy", "--text=/a/b", "--steps=2",
                            "--cache=/c", "--options= a=1  b=2,c"})
                  .ok());
  EXPECT_EQ(flags.given(),
            "--cache=DIRECTORY --text=FILE.txt --steps=2 --input=x=FILE.npy --input=y=FILE.npy --options=a=1,b=2,c");
}

TEST(Flags, OrderOfSumsCountsWhereverItStands) {
  for (const std::vector<const char *> &given : std::vector<std::vector<const char *>>{
           {"--accumulate-order=per-step"},
           {"--enable-zero=accumulate-order=per-step"},
           {"--enable-zero=accumulate-order=per-micro-batch", "--accumulate-order=per-step"},
           {"--accumulate-order=per-step", "--enable-zero=stage=0"}}) {
    sbp::ZeroOptions zero;
    Flags flags("program", "");
    flags.addZero(&zero);
    ASSERT_TRUE(parse(flags, given).ok());
    EXPECT_EQ(zero.accumulateOrder, sbp::AccumulateOrder::PerStep);
  }
  sbp::ZeroOptions zero;
  Flags flags("program", "");
  flags.addZero(&zero);
  EXPECT_EQ(parse(flags, {"--accumulate-order=last"}).message(),
            "--accumulate-order is 'last'; it must be per-micro-batch or per-step");
  EXPECT_EQ(zero.accumulateOrder, sbp::AccumulateOrder::PerMicroBatch);
}

TEST(Flags, ReproducibleCountsWhereverItStands) {
  for (const std::vector<const char *> &given :
       std::vector<std::vector<const char *>>{{"--reproducible"},
                                              {"--enable-zero=reproducible=yes"},
                                              {"--enable-zero=stage=1,reproducible=no", "--reproducible"},
                                              {"--reproducible", "--enable-zero=stage=1"}}) {
    sbp::ZeroOptions zero;
    Flags flags("program", "");
    flags.addZero(&zero);
    ASSERT_TRUE(parse(flags, given).ok());
    EXPECT_TRUE(zero.reproducible);
  }
  sbp::ZeroOptions zero;
  Flags flags("program", "");
  flags.addZero(&zero);
  EXPECT_THAT(std::string(parse(flags, {"--enable-zero=reproducible=true"}).message()),
              HasSubstr("reproducible is 'true', which must be no or yes"));
  EXPECT_FALSE(zero.reproducible);
}

TEST(Flags, RecomputeNamesGroups) {
  auto parsed = [](const std::vector<const char *> &given, sbp::ZeroOptions *zero) {
    Flags flags("program", "");
    flags.addZero(zero);
    return parse(flags, given);
  };
  sbp::ZeroOptions zero;
  ASSERT_TRUE(parsed({"--recompute=all"}, &zero).ok());
  EXPECT_EQ(zero.policy.recompute(), sbp::Recompute::Yes);
  ASSERT_TRUE(parsed({"--recompute=elementwise"}, &zero).ok());
  EXPECT_EQ(zero.policy.recompute(), sbp::Recompute::Elementwise);
  ASSERT_TRUE(parsed({"--recompute=none", "--enable-zero=recompute=yes"}, &zero).ok());
  EXPECT_EQ(zero.policy.recompute(), sbp::Recompute::No);
  ASSERT_TRUE(parsed({"--enable-zero=stage=3,recompute=yes"}, &zero).ok());
  EXPECT_EQ(zero.policy.recompute(), sbp::Recompute::Yes);
  ASSERT_TRUE(parsed({"--recompute=h.0,h.1", "--enable-zero=stage=3"}, &zero).ok());
  EXPECT_EQ(zero.policy.recompute(), sbp::Recompute::No);
  EXPECT_EQ(zero.policy.stage(), 3);
  EXPECT_EQ(zero.recomputedGroups, (std::vector<std::string>{"h.0", "h.1"}));
  for (const char *wrong : {"--recompute=", "--recompute=h.0,", "--recompute=,h.0"})
    EXPECT_THAT(std::string(parsed({wrong}, &zero).message()), HasSubstr("all, none, elementwise, or groups")) << wrong;
}

TEST(RunFlags, NamedFiles) {
  RunFlags run;
  Flags flags("splitcast-run", "");
  run.addTo(flags);
  ASSERT_TRUE(parse(flags, {"m.mlir", "--input=x=a=b.npy", "--input", "y=c.npy", "--output=loss=l.npy"}).ok());
  ASSERT_EQ(run.inputs.size(), 2u);
  EXPECT_EQ(run.inputs[0].name, "x");
  EXPECT_EQ(run.inputs[0].path, "a=b.npy");
  EXPECT_EQ(run.outputs.size(), 1u);
  EXPECT_EQ(run.zero.policy.stage(), 0);
  for (const char *wrong : {"--input=x", "--input==f", "--input=x="}) {
    RunFlags other;
    Flags otherFlags("splitcast-run", "");
    other.addTo(otherFlags);
    EXPECT_THAT(std::string(parse(otherFlags, {"m.mlir", wrong}).message()), HasSubstr("NAME=FILE.npy"));
  }
}

} // namespace
} // namespace splitcast
