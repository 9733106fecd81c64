// SPDX-License-Identifier: Apache-2.0
#include "core/health.hpp"

#include <array>
#include <gtest/gtest.h>

namespace autopilot {
namespace {

// From the word that counts least to the word that counts most.
constexpr std::array kOrder{Health::unsupported, Health::healthy, Health::degraded, Health::unknown,
                            Health::failed};

TEST(Health, worst_follows_the_order_of_the_exit_codes) {
  for (std::size_t low = 0; low < kOrder.size(); ++low) {
    for (std::size_t high = low; high < kOrder.size(); ++high) {
      EXPECT_EQ(worst(kOrder[low], kOrder[high]), kOrder[high]);
      EXPECT_EQ(worst(kOrder[high], kOrder[low]), kOrder[high]);
    }
  }
}

TEST(Health, unknown_is_never_hidden_by_healthy) {
  EXPECT_EQ(worst(Health::healthy, Health::unknown), Health::unknown);
}

TEST(Health, words_read_back) {
  for (const Health health : kOrder)
    EXPECT_EQ(parse_health(to_string(health)), health);
  EXPECT_EQ(parse_health("Healthy"), std::nullopt);
  EXPECT_EQ(parse_health(""), std::nullopt);
}

TEST(Verdict, words_read_back) {
  for (const Verdict verdict :
       {Verdict::none, Verdict::pass, Verdict::warn, Verdict::evict, Verdict::testing})
    EXPECT_EQ(parse_verdict(to_string(verdict)), verdict);
  EXPECT_EQ(to_string(Verdict::none), "");
  EXPECT_EQ(to_string(Verdict::evict), "EVICT");
  EXPECT_EQ(parse_verdict("pass"), std::nullopt);
}

}  // namespace
}  // namespace autopilot
