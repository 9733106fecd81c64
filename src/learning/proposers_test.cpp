// SPDX-License-Identifier: Apache-2.0
#include "learning/proposers.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace autopilot::learning {
namespace {

const MetricKey kGbps{"gpu=H100;driver=570;firmware=28", "net.loopback", "gbps", Worse::lower};

WallTime proposal_day(int days) {
  return WallTime(std::chrono::days(days));
}

std::vector<Measurement> measured_fleet(std::size_t nodes, double level, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<Measurement> result;
  for (std::size_t i = 0; i < nodes; ++i) {
    const double own = level * (1 + 0.01 * normal(engine));
    const std::string node = "n" + std::to_string(i);
    result.push_back({.id = node,
                      .place = {"c", node, ""},
                      .time = proposal_day(static_cast<int>(i % 50)),
                      .kind = kGbps.kind,
                      .check = kGbps.check,
                      .metric = kGbps.metric,
                      .values = {own, own * 1.001, own * 0.999}});
  }
  return result;
}

BaselineProposal proposed(std::span<const Measurement> measurements, const Baseline* parent = nullptr,
                          const std::vector<Fault>& faults = {}) {
  return propose_baseline(measurements, faults, {}, kGbps, parent, proposal_day(50)).value().value();
}

bool is_equal(const Proposal& a, const Proposal& b) {
  return a.id == b.id && a.sentence == b.sentence && a.to == b.to && a.basis.records == b.basis.records &&
         a.replay.before == b.replay.before && a.replay.after == b.replay.after;
}

TEST(Proposals, the_order_of_records_has_no_influence) {
  auto measurements = measured_fleet(250, 390);
  std::vector<Fault> faults;
  for (int i = 0; i < 10; ++i)
    faults.push_back({.id = std::to_string(i), .place = {"c", "n" + std::to_string(7 * i), ""}, .begin = {}});
  const BaselineProposal first = proposed(measurements, nullptr, faults);
  EXPECT_EQ(first.proposal.basis.excluded, 10U);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 engine(seed);
    std::ranges::shuffle(measurements, engine);
    std::ranges::shuffle(faults, engine);
    const BaselineProposal again = proposed(measurements, nullptr, faults);
    EXPECT_TRUE(is_equal(first.proposal, again.proposal)) << seed;
    EXPECT_EQ(first.baseline.sketch, again.baseline.sketch) << seed;
    EXPECT_EQ(first.baseline.alpha, again.baseline.alpha) << seed;
  }
}

TEST(Proposals, a_new_baseline_states_its_basis_and_what_it_changes) {
  const Baseline parent = proposed(measured_fleet(250, 390)).baseline;
  const auto [proposal, baseline] = proposed(measured_fleet(250, 420), &parent);
  EXPECT_EQ(proposal.from_version, 1U);
  EXPECT_EQ(proposal.to_version, 2U);
  EXPECT_EQ(proposal.basis.places, 250U);
  EXPECT_EQ(proposal.basis.records, 750U);
  EXPECT_EQ(proposal.basis.first, proposal_day(0));
  EXPECT_EQ(proposal.basis.last, proposal_day(49));
  EXPECT_NE(proposal.sentence.find("gbps of net.loopback"), std::string::npos);
  EXPECT_NE(proposal.sentence.find(" instead of "), std::string::npos);
  EXPECT_EQ(proposal.replay.evaluations, 145U);  // of the last 30 days
  EXPECT_EQ(proposal.state, ProposalState::shadow);
}

TEST(Proposals, an_unchanged_metric_is_no_proposal) {
  const auto measurements = measured_fleet(250, 390);
  const Baseline parent = proposed(measurements).baseline;
  EXPECT_FALSE(propose_baseline(measurements, {}, {}, kGbps, &parent, proposal_day(50)).value());
}

TEST(Proposals, two_groups_are_an_error_that_names_them) {
  auto measurements = measured_fleet(250, 390);
  for (std::size_t i = 0; i < 120; ++i)
    for (double& value : measurements[i].values)
      value *= 0.85;
  const auto answer = propose_baseline(measurements, {}, {}, kGbps, nullptr, proposal_day(50));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::conflict);
  EXPECT_NE(answer.error().what.find("two groups"), std::string::npos);
}

std::vector<Score> drawn_scores(unsigned seed) {
  std::mt19937 engine(seed);
  std::exponential_distribution<double> draw(1);
  std::vector<Score> scores;
  for (int i = 0; i < 10'000; ++i)
    scores.push_back({"c/n" + std::to_string(i % 10), WallTime(std::chrono::minutes(5 * i)), draw(engine)});
  return scores;
}

TEST(Proposals, a_threshold_comes_with_the_findings_before_and_after) {
  auto scores = drawn_scores(1);
  const ThresholdInUse in_use{"network.bandwidth", "score", "gpu=H100", 3, 4};
  const Budget budget{.findings = 100, .evaluations = 288};
  const auto first = propose_threshold(scores, {}, in_use, budget, proposal_day(35)).value().value();
  EXPECT_GT(first.threshold.value, 3);
  EXPECT_GT(first.proposal.replay.before, first.proposal.replay.after);
  EXPECT_EQ(first.proposal.basis.places, 10U);
  EXPECT_EQ(first.proposal.to_version, 5U);
  std::ranges::reverse(scores);
  const auto again = propose_threshold(scores, {}, in_use, budget, proposal_day(35)).value().value();
  EXPECT_TRUE(is_equal(first.proposal, again.proposal));
  ThresholdInUse same = in_use;
  same.value = first.threshold.value;
  EXPECT_FALSE(propose_threshold(scores, {}, same, budget, proposal_day(35)).value());
}

TEST(Proposals, no_threshold_is_learned_for_a_hard_rule) {
  EXPECT_EQ(propose_threshold(drawn_scores(1), {}, {"gpu.ecc", "count", "", 1, 1}, {}, {}).error().code,
            Errc::unsupported);
}

TEST(Proposals, a_check_that_is_mostly_wrong_is_proposed_as_advisory) {
  std::vector<SettledFault> settled(5, {.check = "net.x", .answer = LabelAnswer::healthy, .trust = 0.9});
  const auto proposal = propose_role(settled, {"net.x", "gpu=H100", CheckRole::gating, 1}, proposal_day(1));
  ASSERT_TRUE(proposal);
  EXPECT_EQ(proposal->to, "advisory");
  EXPECT_EQ(proposal->replay.before, 5U);
  EXPECT_FALSE(propose_role({}, {"net.x", "gpu=H100", CheckRole::gating, 1}, proposal_day(1)));
}

TEST(Proposals, a_proposal_is_adopted_after_shadow_and_canary_and_can_be_reverted) {
  Proposal proposal = make_proposal({.subject = "x", .to = "1"}, proposal_day(10));
  EXPECT_EQ(change_state(proposal, ProposalState::adopted, proposal_day(20)).error().code, Errc::conflict);
  EXPECT_EQ(change_state(proposal, ProposalState::canary, proposal_day(16)).error().code, Errc::conflict);
  EXPECT_TRUE(change_state(proposal, ProposalState::canary, proposal_day(17)));
  EXPECT_TRUE(change_state(proposal, ProposalState::adopted, proposal_day(18)));
  EXPECT_TRUE(change_state(proposal, ProposalState::reverted, proposal_day(19)));
  EXPECT_FALSE(change_state(proposal, ProposalState::adopted, proposal_day(20)));
}

}  // namespace
}  // namespace autopilot::learning
