// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "jobs/engine.hpp"
#include "tests/support/jobs/engine_job.hpp"

namespace autopilot::jobs::engine_test {
namespace {

using testing::IsEmpty;

// A GPU that is 4 % slower than its peers: less than the margin that ships.
std::vector<JobFinding> findings_of_small_loss(const SignalWeightsPtr& weights) {
  Job job;
  job.engine().set_weights(weights);
  const auto slower = [](int node, WindowRecord& window) {
    if (node == 1) column(window, Metric::gpu_sm_clock_mhz)[3] = 1680;
  };
  job.run(40, true);
  job.run(25, true, slower);
  return job.findings();
}

TEST(EngineWeights, a_learned_margin_finds_a_smaller_loss_and_the_finding_states_its_version) {
  EXPECT_THAT(findings_of_small_loss(nullptr), IsEmpty());
  const auto learned = std::make_shared<SignalWeights>();
  learned->version = "3f2a91";
  learned->margins = {{"sm_clock_low", 0.5}};
  const std::vector<JobFinding> found = findings_of_small_loss(learned);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(to_string(found[0].culprit), "GPU 3 of n1");
  EXPECT_EQ(found[0].weights, "3f2a91");
}

TEST(EngineWeights, without_a_learned_value_all_findings_are_the_same) {
  const auto run = [](const SignalWeightsPtr& weights, bool collects_scores) {
    Job job(EngineOptions{.collects_scores = collects_scores});
    job.engine().set_weights(weights);
    job.run(40, true);
    job.run(20, true, [](int node, WindowRecord& window) {
      if (node == 2) column(window, Metric::gpu_sm_clock_mhz)[5] = 1400;
    });
    return job.findings();
  };
  const auto none = std::make_shared<SignalWeights>();
  none->version = "v";
  const std::vector<JobFinding> shipped = run(nullptr, false);
  const std::vector<JobFinding> learned = run(none, true);
  ASSERT_FALSE(shipped.empty());
  ASSERT_EQ(learned.size(), shipped.size());
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    EXPECT_EQ(learned[i].id, shipped[i].id);
    EXPECT_EQ(learned[i].probability, shipped[i].probability);
    EXPECT_EQ(learned[i].detected, shipped[i].detected);
    EXPECT_EQ(learned[i].summary, shipped[i].summary);
    EXPECT_EQ(shipped[i].weights, "");
  }
}

TEST(EngineScores, are_collected_on_request_for_each_node_and_half_hour) {
  Job job(EngineOptions{.collects_scores = true});
  job.run(95, true);
  const std::vector<PeerScore> scores = job.engine().take_scores();
  const auto clocks = std::ranges::count(scores, "sm_clock_low", &PeerScore::signal);
  EXPECT_GE(clocks, 2 * kNodes);
  for (const PeerScore& score : scores)
    EXPECT_LT(score.margins, 1) << score.signal;
  Job without;
  without.run(95, true);
  EXPECT_TRUE(without.engine().take_scores().empty());
}

}  // namespace
}  // namespace autopilot::jobs::engine_test
