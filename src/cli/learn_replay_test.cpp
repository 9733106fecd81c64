// SPDX-License-Identifier: Apache-2.0
#include "cli/learn_replay.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::cli {
namespace {

using std::chrono::days;

constexpr WallTime kReplayedUntil{days(100)};
const learning::LearnedThreshold kLearnedShare{"gpu.memory_bandwidth.peak_share", "gpu=NVIDIA H100 80GB HBM3",
                                               0.8};

learning::Measurement replayed(const std::string& gpu, int day, double value,
                               const std::string& driver = "570",
                               const std::string& metric = "memory_bandwidth.copy") {
  return {.id = gpu + std::to_string(day) + metric,
          .place = {"", "n1", gpu},
          .time = WallTime(days(day)),
          .kind = "gpu=NVIDIA H100 80GB HBM3;driver=" + driver,
          .check = "gpu.memory_bandwidth",
          .metric = metric,
          .values = {value}};
}

learning::ProposalReplay replay_of(const std::vector<learning::Measurement>& measurements) {
  return replay_threshold(kLearnedShare, 0.6, {measurements, kReplayedUntil - days(30), kReplayedUntil},
                          catalog::builtin());
}

TEST(LearnReplay, counts_what_the_check_finds_before_and_after) {
  const auto replay = replay_of({replayed("a", 90, 1900), replayed("b", 90, 2400), replayed("c", 90, 2800)});
  EXPECT_EQ(replay.evaluations, 3U);
  EXPECT_EQ(replay.before, 1U);  // below 2010 GB/s
  EXPECT_EQ(replay.after, 2U);   // below 2680 GB/s
}

TEST(LearnReplay, has_one_evaluation_for_a_card_with_several_metrics) {
  const auto replay =
      replay_of({replayed("a", 90, 2400), replayed("a", 90, 2400, "570", "memory_bandwidth.triad")});
  EXPECT_EQ(replay.evaluations, 1U);
  EXPECT_EQ(replay.after, 1U);
}

TEST(LearnReplay, has_only_the_interval_and_the_kind) {
  learning::Measurement other = replayed("a", 90, 1000);
  other.kind = "gpu=NVIDIA B200";
  const auto replay = replay_of({replayed("a", 70, 1000), replayed("a", 101, 1000), other});
  EXPECT_EQ(replay.evaluations, 0U);
  EXPECT_EQ(replay.after, 0U);
}

TEST(LearnReplay, of_a_baseline_counts_its_failures) {
  learning::Baseline baseline{.key = {"gpu=NVIDIA H100 80GB HBM3", "gpu.memory_bandwidth",
                                      "memory_bandwidth.copy", learning::Worse::lower},
                              .version = 1,
                              .alpha = 0.95};
  baseline.sketch.fill(2600);
  const std::vector<learning::Measurement> measurements{replayed("a", 90, 2590), replayed("b", 90, 2000)};
  const ReplayedRecords records{measurements, kReplayedUntil - days(30), kReplayedUntil};
  const auto replay = replay_baseline(nullptr, baseline, records);
  EXPECT_EQ(replay.evaluations, 2U);
  EXPECT_EQ(replay.before, 0U);
  EXPECT_EQ(replay.after, 1U);
}

}  // namespace
}  // namespace autopilot::cli
