// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/signal_weights.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "jobs/decision/fusion.hpp"

namespace autopilot::jobs {
namespace {

std::vector<Evidence> weighed(std::string_view signal) {
  return {make_evidence(signal, "", WallTime{})};
}

TEST(SignalWeights, a_learned_weight_and_prior_replace_those_that_ship) {
  SignalWeights weights{.version = "v1", .log_odds = {{"sm_clock_low", 1.5}}};
  const double shipped = fuse(kPrior, weighed("sm_clock_low")).probability;
  const double learned = fuse(kPrior, weighed("sm_clock_low"), FusionRule::families, &weights).probability;
  EXPECT_GT(shipped, 0.5);
  EXPECT_LT(learned, 0.3);
  EXPECT_EQ(fuse(kPrior, weighed("temp_high"), FusionRule::families, &weights).probability,
            fuse(kPrior, weighed("temp_high")).probability);
}

TEST(SignalWeights, a_margin_scales_the_rule_of_its_signal_only) {
  const SignalWeights weights{.version = "v1", .margins = {{"sm_clock_low", 0.5}}};
  const PeerRule& clock = *find_peer_rule("sm_clock_low");
  EXPECT_FLOAT_EQ(with_margin(clock, &weights).shortfall, clock.shortfall / 2);
  EXPECT_FLOAT_EQ(with_margin(clock, &weights).z, clock.z / 2);
  EXPECT_FLOAT_EQ(with_margin(clock, nullptr).z, clock.z);
  const PeerRule& heat = *find_peer_rule("temp_high");
  EXPECT_FLOAT_EQ(with_margin(heat, &weights).z, heat.z);
}

TEST(SignalWeights, facts_and_values_out_of_range_are_refused_by_name) {
  const auto refused = [](SignalWeights weights) {
    const Status status = check_weights(weights);
    return status ? std::string() : status.error().what;
  };
  EXPECT_EQ(refused({.version = "v1", .prior = 0.1, .log_odds = {{"sm_clock_low", 2}}}), "");
  EXPECT_NE(refused({}).find("version"), std::string::npos);
  EXPECT_NE(refused({.version = "v1", .log_odds = {{"xid_hardware", 0}}}).find("xid_hardware"),
            std::string::npos);
  EXPECT_NE(refused({.version = "v1", .log_odds = {{"new_signal", 1}}}).find("new_signal"),
            std::string::npos);
  EXPECT_NE(refused({.version = "v1", .log_odds = {{"sm_clock_low", 9}}}), "");
  EXPECT_NE(refused({.version = "v1", .margins = {{"sm_clock_low", 0.1}}}), "");
  EXPECT_NE(refused({.version = "v1", .margins = {{"ecc_uncorrected", 1}}}), "");
  EXPECT_NE(refused({.version = "v1", .margins = {{"mem_bytes_high", 1}}}), "");
  EXPECT_NE(refused({.version = "v1", .prior = 0.9}), "");
}

}  // namespace
}  // namespace autopilot::jobs
