// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/fusion.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace autopilot::jobs {
namespace {

std::vector<Evidence> evidence_of(const std::vector<std::string>& signals) {
  std::vector<Evidence> list;
  for (const std::string& signal : signals)
    list.push_back(make_evidence(signal, "text of " + signal, WallTime{}));
  return list;
}

double fused(const std::vector<std::string>& signals, double prior = kPrior) {
  return fuse(prior, evidence_of(signals)).probability;
}

TEST(Fusion, no_evidence_leaves_the_prior) {
  EXPECT_NEAR(fuse(0.2, {}).probability, 0.2, 1e-9);
}

TEST(Fusion, two_families_are_enough_to_stop_a_job_and_one_is_not) {
  EXPECT_LT(fused({"sm_clock_low"}), 0.9);
  EXPECT_GT(fused({"sm_clock_low", "tensor_high"}), 0.9);
}

TEST(Fusion, signals_of_one_family_do_not_add_up) {
  const double one = fused({"throttle_thermal"});
  EXPECT_DOUBLE_EQ(fused({"throttle_thermal", "temp_high", "sm_clock_low"}), one);
}

TEST(Fusion, evidence_against_lowers_the_probability_within_a_family_too) {
  EXPECT_LT(fused({"tensor_high", "mem_bytes_high"}), fused({"tensor_high"}));
  EXPECT_LT(fused({"xid_application"}), kPrior);
  EXPECT_LT(fused({"nic_retransmits_high", "congestion"}), fused({"nic_retransmits_high"}));
}

TEST(Fusion, an_unknown_signal_or_value_accuses_nobody) {
  EXPECT_NEAR(fused({"invented"}), kPrior, 1e-9);
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto list = evidence_of({"sm_clock_low"});
    list[0].value = value;
    EXPECT_NEAR(fuse(kPrior, list).probability, kPrior, 1e-9);
  }
}

TEST(Fusion, terms_are_strongest_first_and_sum_up_to_the_result) {
  const auto list = evidence_of({"temp_high", "tensor_high", "throttle_brake", "xid_application"});
  const Fusion fusion = fuse(kPrior, list);
  ASSERT_EQ(fusion.terms.size(), 4U);
  EXPECT_EQ(fusion.terms[0].signal, "throttle_brake");
  EXPECT_EQ(fusion.terms[3].signal, "temp_high");
  EXPECT_EQ(fusion.terms[3].log_odds, 0);
  double sum = std::log(kPrior / (1 - kPrior));
  for (const Evidence& term : fusion.terms)
    sum += term.log_odds;
  EXPECT_NEAR(1 / (1 + std::exp(-sum)), fusion.probability, 1e-9);
}

TEST(Fusion, the_order_of_evidence_does_not_matter) {
  auto list = evidence_of({"nic_down", "util_low", "sm_clock_low", "throttle_hw", "job_slowed", "nic_down"});
  const Fusion first = fuse(kPrior, list);
  std::reverse(list.begin(), list.end());
  const Fusion second = fuse(kPrior, list);
  EXPECT_DOUBLE_EQ(first.probability, second.probability);
  for (std::size_t i = 0; i < list.size(); ++i)
    EXPECT_EQ(first.terms[i].signal, second.terms[i].signal);
}

TEST(Fusion, without_fusion_the_strongest_signal_decides) {
  const auto list = evidence_of({"temp_high", "tensor_high", "pcie_width_low"});
  const Fusion fusion = fuse(kPrior, list, FusionRule::strongest);
  EXPECT_DOUBLE_EQ(fusion.probability, fused({"pcie_width_low"}));
  EXPECT_EQ(fusion.terms[0].signal, "pcie_width_low");
}

TEST(Fusion, extreme_priors_stay_probabilities) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NEAR(fuse(nan, {}).probability, kPrior, 1e-9);
  EXPECT_GT(fuse(-1, {}).probability, 0);
  EXPECT_LT(fuse(2, evidence_of({"sm_clock_low", "nic_down", "node_lost"})).probability, 1);
}

TEST(Fusion, every_signal_is_known_once_and_within_the_limit) {
  std::set<std::string_view> seen;
  for (const Likelihood& known : likelihoods()) {
    EXPECT_TRUE(seen.insert(known.signal).second) << known.signal;
    EXPECT_LE(std::abs(known.log_odds), kMaxLogOdds) << known.signal;
    EXPECT_NE(known.log_odds, 0) << known.signal;
  }
  for (const std::string_view against : {"congestion", "mem_bytes_high", "xid_application"})
    EXPECT_LT(likelihood_of(against)->log_odds, 0) << against;
}

}  // namespace
}  // namespace autopilot::jobs
