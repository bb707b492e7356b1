#include "dialects/sbp/algebra/Policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitcast::sbp {
namespace {

using ::testing::HasSubstr;

std::string errorOf(const std::string &text) {
  ZeroOptions options;
  return parseZeroOptions(text, &options).value_or("");
}

// Commas, spaces, or both; what is not said stays.
TEST(Policy, OneGrammar) {
  for (const char *text : {"stage=3,strategy=tensor,axis=tp", "stage=3 strategy=tensor axis=tp",
                           "stage=3, strategy=tensor ,axis=tp", "  stage=3\n strategy=tensor , axis=tp "}) {
    ZeroOptions options;
    EXPECT_EQ(parseZeroOptions(text, &options), std::nullopt) << text;
    EXPECT_EQ(toString(options.policy), "stage=3,strategy=tensor") << text;
    EXPECT_EQ(options.axis, "tp") << text;
  }
  ZeroOptions options;
  EXPECT_EQ(parseZeroOptions("hold-gathers-bytes=7", &options), std::nullopt);
  EXPECT_EQ(options.holdGathersBytes, 7);
  EXPECT_EQ(parseZeroOptions("", &options), std::nullopt);
  EXPECT_EQ(options.holdGathersBytes, 7);
  for (OneCopy oneCopy : {OneCopy::No, OneCopy::Yes, OneCopy::Auto}) {
    EXPECT_EQ(parseZeroOptions("one-copy=" + toString(oneCopy), &options), std::nullopt);
    EXPECT_EQ(options.oneCopy, oneCopy);
    EXPECT_EQ(zeroOptionText("one-copy", options), toString(oneCopy));
  }
}

TEST(Policy, Errors) {
  EXPECT_EQ(errorOf("stage=4"), "stage is '4', which must be 0, 1, 2 or 3");
  EXPECT_EQ(errorOf("stage"), "stage is '', which must be 0, 1, 2 or 3");
  EXPECT_EQ(errorOf("keep=no"), "keep is 'no', which must be never, last, always or step");
  EXPECT_EQ(errorOf("bucket-bytes=1e3"), "bucket-bytes is '1e3', which must be a number that is not negative");
  EXPECT_EQ(errorOf("bucket-bytes=99999999999999999999"),
            "bucket-bytes is '99999999999999999999', which must be a number that is not negative");
  EXPECT_EQ(errorOf("stage=1 stage=1"), "it has 'stage' twice; give it once");
  for (const char *empty : {"stage=1,", ",stage=1", "stage=1,,keep=last", ","})
    EXPECT_THAT(errorOf(empty), HasSubstr("no option ''")) << empty;
  Policy policy;
  EXPECT_THAT(parsePolicy("axis=dp", &policy).value_or(""), HasSubstr("options are stage, strategy, keep"));
  // An error changes nothing.
  ZeroOptions options;
  EXPECT_TRUE(parseZeroOptions("stage=1,keep=no", &options));
  EXPECT_TRUE(options.policy.isEmpty());
}

TEST(Policy, Defaults) {
  Policy nothing;
  EXPECT_EQ(nothing.stage(), 2);
  EXPECT_EQ(nothing.strategy(), Strategy::Bucket);
  EXPECT_EQ(nothing.keep(), Keep::Last);
  EXPECT_EQ(nothing.prefetch(), kAutomatic);
  EXPECT_EQ(nothing.prefetchBytes(), 0);
  EXPECT_EQ(nothing.bucketBytes(), 0);
  EXPECT_EQ(nothing.completed().get(Decision::Keep), static_cast<int64_t>(Keep::Last));
  EXPECT_NE(nothing, nothing.completed());
}

// The table at the head of Policy.h.
TEST(Policy, WhatIsSaidOfFewerHolds) {
  Policy variable = Policy().setKeep(Keep::Always), inner = Policy().setStrategy(Strategy::Tensor),
         outer = Policy().setStage(3).setStrategy(Strategy::Bucket).setKeep(Keep::Never), all = Policy().setStage(1);
  EXPECT_EQ(toString(variable.over(inner).over(outer).over(all)), "stage=3,strategy=tensor,keep=always");
  EXPECT_EQ(toString(all.over(outer)), "stage=1,strategy=bucket,keep=never");
}

// What the help says of each option is what the option has and takes.
TEST(Policy, TheTableIsWhole) {
  ASSERT_EQ(decisionInfos().size(), static_cast<size_t>(kNumDecisions));
  for (int i = 0; i < kNumDecisions; ++i)
    EXPECT_EQ(decisionInfos()[i].decision, static_cast<Decision>(i));
  for (const OptionInfo &info : zeroOptionInfos()) {
    ZeroOptions options;
    EXPECT_EQ(zeroOptionText(info.name, options), info.standard) << info.name;
    EXPECT_EQ(setZeroOption(info.name, info.standard, &options), std::nullopt) << info.name;
    EXPECT_EQ(zeroOptionText(info.name, options), info.standard) << info.name;
    EXPECT_THAT(info.help, HasSubstr(info.standard)) << info.name;
  }
}

} // namespace
} // namespace splitcast::sbp
