#include "compiler/launch/CheckpointName.h"

#include <gtest/gtest.h>

namespace splitcast {
namespace {

TEST(CheckpointName, OfFiles) {
  EXPECT_EQ((CheckpointName{1, 120}.text()), "step-000000120");
  EXPECT_EQ((CheckpointName{12, 120}.text()), "step-000000120-job-12");
  for (const CheckpointName &name : {CheckpointName{1, 0}, {1, 12345678901}, {2, 7}, {1000000, 7}}) {
    for (const char *suffix : {".json", ".safetensors", ".json.17-0.partial"})
      EXPECT_EQ(CheckpointName::ofFile(name.text() + suffix), name) << name.text() << suffix;
    EXPECT_EQ(CheckpointName::ofManifest(name.text() + ".json"), name);
    for (const char *suffix : {".safetensors", ".json.17-0.partial", ""})
      EXPECT_FALSE(CheckpointName::ofManifest(name.text() + suffix)) << name.text() << suffix;
  }
  for (const char *other : {"step-120.json", "step-.json", "step-00000012x.json", ".json", "step--00000001.json", "",
                            "step-000000120", "job-000000002.json", "step-000000120-job-1.json",
                            "step-000000120-job-0.json", "step-000000120-job-02.json", "step-000000120-job--2.json",
                            "step-000000120-job-.json", "step-000000120-job-2-job-2.json", "step-000000120-best.json"})
    EXPECT_FALSE(CheckpointName::ofFile(other)) << other;
}

/// A later job's checkpoint is newer, whatever its step.
TEST(CheckpointName, Order) {
  EXPECT_LT((CheckpointName{1, 100}), (CheckpointName{1, 101}));
  EXPECT_LT((CheckpointName{1, 13200}), (CheckpointName{2, 2400}));
  EXPECT_LT((CheckpointName{9, 5}), (CheckpointName{10, 5}));
  EXPECT_FALSE((CheckpointName{2, 5}) < (CheckpointName{2, 5}));
}

} // namespace
} // namespace splitcast
