// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/sums.hpp"

#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

OneWay way(double sent, double received, std::optional<std::int64_t> retransmits,
           std::vector<Sample> samples = {}) {
  return {.sent_bits_per_second = sent,
          .received_bits_per_second = received,
          .retransmits = retransmits,
          .samples = std::move(samples)};
}

TEST(Sums, tests_that_ran_together_are_one_bandwidth) {
  const std::vector<std::optional<OneWay>> ways = {way(100, 90, 1), way(200, 180, 2), way(300, 270, 3)};
  const auto total = sum_of(ways);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->sent_bits_per_second, 600);
  EXPECT_EQ(total->received_bits_per_second, 540);
  EXPECT_EQ(total->retransmits, 6);
}

TEST(Sums, without_one_of_them_there_is_no_bandwidth) {
  EXPECT_FALSE(sum_of(std::vector<std::optional<OneWay>>{way(1, 1, 0), std::nullopt}));
  EXPECT_FALSE(sum_of(std::vector<std::optional<OneWay>>{std::nullopt, way(1, 1, 0)}));
  EXPECT_FALSE(sum_of({}));
}

TEST(Sums, an_end_that_does_not_know_its_retransmits_makes_no_zero) {
  EXPECT_EQ(sum_of(std::vector<std::optional<OneWay>>{way(1, 1, 5), way(1, 1, std::nullopt)})->retransmits,
            std::nullopt);
  EXPECT_EQ(sum_of(std::vector<std::optional<OneWay>>{way(1, 1, std::nullopt), way(1, 1, 5)})->retransmits,
            std::nullopt);
}

TEST(Sums, samples_are_added_in_their_order_as_far_as_all_have_them) {
  const std::vector<std::optional<OneWay>> ways = {way(1, 1, 0, {{1, 10}, {1, 20}, {0.5, 30}}),
                                                   way(1, 1, 0, {{1, 1}, {1.1, 2}})};
  const auto total = sum_of(ways);
  ASSERT_EQ(total->samples.size(), 2U);
  EXPECT_EQ(total->samples[0].bits_per_second, 11);
  EXPECT_EQ(total->samples[1].bits_per_second, 22);
  EXPECT_EQ(total->samples[1].seconds, 1.1);
}

TEST(Sums, a_rest_at_the_end_is_no_sample) {
  EXPECT_EQ(whole_samples({{1, 10}, {0.6, 20}, {0.002, 3000}}, 1).size(), 2U);
  EXPECT_EQ(whole_samples({{0.1, 10}}, 0.1).size(), 1U);
}

}  // namespace
}  // namespace autopilot::probes::net
