// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "jobs/decision/fusion.hpp"
#include "jobs/detectors/peers.hpp"

namespace autopilot::jobs {
namespace {

TEST(Signals, every_rule_of_peers_has_a_likelihood_of_its_family) {
  for (const PeerRule& rule : peer_rules()) {
    const auto known = likelihood_of(rule.signal);
    ASSERT_TRUE(known.has_value()) << rule.signal;
    EXPECT_EQ(known->family, rule.family) << rule.signal;
  }
}

}  // namespace
}  // namespace autopilot::jobs
