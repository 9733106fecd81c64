// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/propose_all.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace autopilot::learning {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr WallTime kLearnedAt{days(60)};

struct DrawnFleet {
  std::size_t nodes = 40;
  double bad = 0;
  double slow = 0.8;
  unsigned seed = 1;
};

LearnInput drawn_input(const DrawnFleet& fleet) {
  std::mt19937 engine(fleet.seed);
  std::normal_distribution<double> normal;
  LearnInput input;
  for (std::size_t i = 0; i < fleet.nodes; ++i) {
    const bool is_bad = static_cast<double>(i) < fleet.bad * static_cast<double>(fleet.nodes);
    const double own = 100 * (1 + 0.01 * normal(engine)) * (is_bad ? fleet.slow : 1);
    for (int run = 0; run < 30; ++run)
      input.measurements.push_back({.id = std::to_string(i) + "/" + std::to_string(run),
                                    .place = {"", "n" + std::to_string(i), "g" + std::to_string(i)},
                                    .time = WallTime(days(31 + run - 1)),
                                    .kind = "gpu=H100;driver=570",
                                    .check = "net.loopback",
                                    .metric = "gbps",
                                    .values = {own * (1 + 0.002 * normal(engine))}});
  }
  input.limit_of = [](std::string_view, std::string_view, const MachineKind&) {
    return std::optional(MetricLimit{"net.loopback.least", 10, 1});
  };
  input.now = kLearnedAt;
  return input;
}

const Version& proposed_of(const LearnOutcome& outcome, ProposalKind kind) {
  return *std::ranges::find_if(outcome.proposals,
                               [kind](const Version& one) { return one.proposal.kind == kind; });
}

void use_everywhere(LearnInput& input, Version version) {
  for (int step = 0; step < 2; ++step)
    ASSERT_TRUE(adopt(version, input.versions, {kLearnedAt, "ops", "test", true}));
  input.versions.push_back(version);
}

TEST(ProposeAll, finds_a_baseline_and_a_least_value_within_the_budget) {
  LearnInput input = drawn_input({});
  const LearnOutcome outcome = propose_all(input);
  ASSERT_EQ(outcome.proposals.size(), 2U);
  EXPECT_TRUE(outcome.refused.empty());
  const double least =
      std::get<LearnedThreshold>(proposed_of(outcome, ProposalKind::threshold).learned).value;
  EXPECT_GT(least, 90);
  EXPECT_LE(least, 98.5);
  EXPECT_EQ(proposed_of(outcome, ProposalKind::threshold).proposal.subject,
            "net.loopback.least on gpu=H100;driver=570");
}

TEST(ProposeAll, refuses_measurements_above_the_nominal_rate) {
  LearnInput input = drawn_input({});
  for (const double whole : {120.0, 50.0}) {
    input.limit_of = [whole](std::string_view, std::string_view, const MachineKind&) {
      return std::optional(MetricLimit{"net.loopback.least", 0.1, whole, true});
    };
    const LearnOutcome outcome = propose_all(input);
    EXPECT_EQ(outcome.proposals.empty(), whole < 100);
    EXPECT_EQ(outcome.refused.size(), whole < 100 ? 1U : 0U);
    if (whole < 100)
      EXPECT_NE(outcome.refused.at(0).why.find("above the nominal rate in the catalog, 50:"),
                std::string::npos)
          << outcome.refused[0].why;
  }
}

TEST(ProposeAll, gives_the_same_proposals_for_the_same_records_in_any_order) {
  LearnInput input = drawn_input({.seed = 5});
  const LearnOutcome first = propose_all(input);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::mt19937 engine(seed);
    std::ranges::shuffle(input.measurements, engine);
    const LearnOutcome again = propose_all(input);
    ASSERT_EQ(again.proposals.size(), first.proposals.size());
    for (std::size_t i = 0; i < first.proposals.size(); ++i)
      EXPECT_EQ(again.proposals[i].proposal.id, first.proposals[i].proposal.id) << seed;
  }
}

TEST(ProposeAll, leaves_alone_what_still_fits) {
  LearnInput input = drawn_input({});
  for (const Version& version : propose_all(input).proposals)
    use_everywhere(input, version);
  const LearnOutcome again = propose_all(input);
  EXPECT_TRUE(again.proposals.empty());
  EXPECT_EQ(again.unchanged.size(), 2U);
}

TEST(ProposeAll, follows_no_poisoned_fleet) {
  for (unsigned seed = 1; seed <= 20; ++seed)
    for (const double slow : {0.7, 0.8, 0.9, 0.95}) {
      const LearnOutcome outcome = propose_all(drawn_input({.bad = 0.4, .slow = slow, .seed = seed}));
      for (const Version& version : outcome.proposals) {
        if (const auto* baseline = std::get_if<Baseline>(&version.learned))
          EXPECT_GT(baseline->sketch[50], 98.5) << seed << " " << slow;
        if (const auto* threshold = std::get_if<LearnedThreshold>(&version.learned))
          EXPECT_GT(threshold->value, 85) << seed << " " << slow;
      }
    }
}

TEST(ProposeAll, refuses_a_baseline_that_fails_nodes_that_serve_well) {
  LearnInput input = drawn_input({.bad = 0.1, .slow = 0.85});
  for (int i = 0; i < 40; ++i)
    input.jobs.push_back({.id = std::to_string(i),
                          .place = {"", "n" + std::to_string(i), ""},
                          .job = "j",
                          .start = WallTime(days(31)),
                          .end = WallTime(days(45)),
                          .outcome = JobOutcome::completed});
  const LearnOutcome outcome = propose_all(input);
  EXPECT_TRUE(outcome.proposals.empty());
  ASSERT_EQ(outcome.refused.size(), 1U);
  EXPECT_NE(outcome.refused[0].why.find("would fail 4 of the 40 places"), std::string::npos)
      << outcome.refused[0].why;
}

TEST(ProposeAll, learns_nothing_from_nodes_on_probation_or_with_an_open_fault) {
  LearnInput input = drawn_input({});
  input.probation = {"/n1"};
  input.faults.push_back(
      {.id = "f", .place = {"", "n2", ""}, .begin = WallTime(days(50)), .check = "gpu.xid"});
  const LearnOutcome outcome = propose_all(input);
  EXPECT_EQ(proposed_of(outcome, ProposalKind::baseline).proposal.basis.places, 38U);
  EXPECT_EQ(proposed_of(outcome, ProposalKind::baseline).proposal.basis.excluded, 2U);
}

TEST(ProposeAll, refuses_a_threshold_without_enough_measurements) {
  LearnInput input = drawn_input({});
  std::erase_if(input.measurements, [](const Measurement& one) { return one.time < WallTime(days(55)); });
  const LearnOutcome outcome = propose_all(input);
  ASSERT_EQ(outcome.proposals.size(), 1U);
  ASSERT_EQ(outcome.refused.size(), 1U);
  EXPECT_EQ(outcome.refused[0].subject, "net.loopback.least on gpu=H100;driver=570");
}

TEST(ProposeAll, proposes_the_role_of_a_check_from_labels) {
  LearnInput input;
  input.now = kLearnedAt;
  for (int i = 0; i < 6; ++i) {
    const std::string id = std::to_string(i);
    input.faults.push_back({.id = id,
                            .place = {"", "n" + id, ""},
                            .begin = WallTime(days(40)),
                            .end = WallTime(days(50)),
                            .check = "gpu.throttle"});
    input.jobs.push_back({.id = id,
                          .place = {"", "n" + id, ""},
                          .job = id,
                          .start = WallTime(days(41)),
                          .end = WallTime(days(44)),
                          .outcome = JobOutcome::completed});
    input.labels.push_back({.id = id,
                            .place = {"", "n" + id, ""},
                            .time = WallTime(days(51)),
                            .fault = id,
                            .answer = LabelAnswer::healthy,
                            .source = LabelSource::repeat_test});
  }
  const LearnOutcome outcome = propose_all(input);
  ASSERT_EQ(outcome.proposals.size(), 1U);
  EXPECT_EQ(std::get<LearnedRole>(outcome.proposals[0].learned),
            (LearnedRole{"gpu.throttle", CheckRole::advisory}));
  use_everywhere(input, outcome.proposals[0]);
  EXPECT_TRUE(propose_all(input).proposals.empty());
}

TEST(ProposeAll, of_nothing_is_nothing) {
  const LearnOutcome outcome = propose_all({});
  EXPECT_TRUE(outcome.proposals.empty());
  EXPECT_TRUE(outcome.refused.empty());
}

}  // namespace
}  // namespace autopilot::learning
