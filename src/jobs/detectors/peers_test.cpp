// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/peers.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

#include "jobs/records.hpp"

namespace autopilot::jobs {
namespace {

const PeerRule& rule_of(std::string_view signal) {
  const PeerRule* found = find_peer_rule(signal);
  EXPECT_NE(found, nullptr) << signal;
  return found == nullptr ? peer_rules().front() : *found;
}

constexpr float kEndless = std::numeric_limits<float>::infinity();

std::vector<float> clocks_of(std::size_t count, float mhz = 1755) {
  std::vector<float> values(count, mhz);
  for (std::size_t at = 0; at < count; ++at)
    values[at] += static_cast<float>(at % 3) * 4;
  return values;
}

TEST(Peers, a_gpu_with_a_low_clock_is_a_hit_with_its_shortfall) {
  std::vector<float> values = clocks_of(32);
  values[7] = 1400;
  const PeerComparison found = find_outliers(values, rule_of("sm_clock_low"));
  ASSERT_EQ(found.hits.size(), 1U);
  EXPECT_EQ(found.hits[0].member, 7U);
  EXPECT_GT(found.hits[0].z, 3.5F);
  EXPECT_NEAR(found.hits[0].relative, 0.2, 0.01);
  EXPECT_NEAR(found.threshold, found.median * 0.95, 40);
  EXPECT_FALSE(found.is_group_event);
}

TEST(Peers, a_higher_clock_than_the_peers_is_not_a_hit) {
  std::vector<float> values = clocks_of(32);
  values[7] = 1980;
  EXPECT_TRUE(find_outliers(values, rule_of("sm_clock_low")).hits.empty());
}

TEST(Peers, pinned_clocks_without_spread_and_a_small_difference_are_healthy) {
  std::vector<float> values(16, 1755);
  values[0] = 1710;
  EXPECT_TRUE(find_outliers(values, rule_of("sm_clock_low")).hits.empty());
  values[0] = 1600;
  EXPECT_EQ(find_outliers(values, rule_of("sm_clock_low")).hits.size(), 1U);
}

TEST(Peers, a_member_within_a_wide_spread_is_healthy) {
  std::vector<float> values;
  for (int at = 0; at < 16; ++at)
    values.push_back(300.0F + 20.0F * static_cast<float>(at));
  EXPECT_TRUE(find_outliers(values, rule_of("power_low")).hits.empty());
}

TEST(Peers, few_members_give_no_hits_unless_the_value_is_nominal) {
  const std::vector<float> three{1755, 1755, 900};
  EXPECT_TRUE(find_outliers(three, rule_of("sm_clock_low")).hits.empty());
  const std::vector<float> widths{16, 8};
  const PeerComparison found = find_outliers(widths, rule_of("pcie_width_low"));
  ASSERT_EQ(found.hits.size(), 1U);
  EXPECT_EQ(found.hits[0].member, 1U);
  EXPECT_TRUE(find_outliers(std::vector<float>{8}, rule_of("pcie_width_low")).hits.empty());
}

TEST(Peers, an_event_that_only_one_member_has_is_a_hit_whatever_the_median) {
  std::vector<float> values(8, 0);
  values[3] = 1;
  const PeerComparison found = find_outliers(values, rule_of("ecc_uncorrected"));
  ASSERT_EQ(found.hits.size(), 1U);
  EXPECT_EQ(found.hits[0].member, 3U);
}

TEST(Peers, unknown_values_are_neither_peers_nor_hits) {
  EXPECT_TRUE(std::isnan(find_outliers({}, rule_of("power_low")).median));
  for (const PeerRule& each : peer_rules()) {
    const std::vector<float> unknown{kMissing, kEndless, -kEndless, kMissing, kMissing, kEndless};
    const PeerComparison found = find_outliers(unknown, each);
    EXPECT_EQ(found.known, 0U);
    EXPECT_TRUE(std::isnan(found.median));
    EXPECT_TRUE(found.hits.empty()) << each.signal;
  }
  std::vector<float> values = clocks_of(12);
  values[0] = -kEndless;
  values[1] = kMissing;
  values[2] = 1200;
  const PeerComparison found = find_outliers(values, rule_of("sm_clock_low"));
  EXPECT_EQ(found.known, 10U);
  ASSERT_EQ(found.hits.size(), 1U);
  EXPECT_EQ(found.hits[0].member, 2U);
}

TEST(Peers, many_members_that_deviate_together_are_an_event_of_the_group) {
  std::vector<float> values = clocks_of(20);
  for (std::size_t at = 0; at < 4; ++at)
    values[at] = 1400;
  EXPECT_FALSE(find_outliers(values, rule_of("sm_clock_low")).is_group_event);
  values[4] = 1400;
  EXPECT_TRUE(find_outliers(values, rule_of("sm_clock_low")).is_group_event);
}

TEST(Peers, all_gpus_of_one_host_may_deviate_without_an_event_of_the_group) {
  std::vector<float> values = clocks_of(32);
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t at = 0; at < 32; ++at)
    hosts.push_back(at / 8);
  for (std::size_t at = 8; at < 16; ++at)
    values[at] = 1400;
  PeerScratch scratch;
  PeerComparison found;
  find_outliers(values, hosts, rule_of("sm_clock_low"), scratch, found);
  EXPECT_EQ(found.hits.size(), 8U);
  EXPECT_FALSE(found.is_group_event);
  values[0] = 1400;
  find_outliers(values, hosts, rule_of("sm_clock_low"), scratch, found);
  EXPECT_TRUE(found.is_group_event);
}

TEST(Peers, no_rule_accuses_a_member_of_a_group_of_equals) {
  for (const PeerRule& each : peer_rules())
    for (const float value : {0.0F, 1.0F, 16.0F, 5e10F})
      EXPECT_TRUE(find_outliers(std::vector<float>(9, value), each).hits.empty()) << each.signal;
}

TEST(Peers, every_rule_finds_a_member_that_is_far_worse_than_its_peers) {
  for (const PeerRule& each : peer_rules()) {
    const auto most = static_cast<float>(info(each.metric).max);
    std::vector<float> values(9, each.worse == Worse::low ? most : 0);
    values[4] = most - values[4];
    EXPECT_EQ(find_outliers(values, each).hits.size(), 1U) << each.signal;
  }
}

TEST(Peers, signals_are_unique) {
  std::set<std::string_view> signals;
  for (const PeerRule& each : peer_rules())
    EXPECT_TRUE(signals.insert(each.signal).second) << each.signal;
  EXPECT_EQ(find_peer_rule("no_such_signal"), nullptr);
}

TEST(Peers, counts_are_compared_as_rates) {
  EXPECT_FLOAT_EQ(per_minute(5, 10), 30);
  EXPECT_TRUE(std::isnan(per_minute(5, 0)));
  EXPECT_TRUE(std::isnan(per_minute(kMissing, 10)));
}

TEST(HitHistory, eight_of_ten_minutes_make_a_deviation_and_two_of_ten_end_it) {
  HitHistory history;
  for (int minute = 0; minute < 7; ++minute)
    EXPECT_FALSE(history.add(Minute::hit));
  EXPECT_TRUE(history.add(Minute::hit));
  for (int minute = 0; minute < 7; ++minute)
    EXPECT_TRUE(history.add(Minute::clear));
  EXPECT_FALSE(history.add(Minute::clear));
}

TEST(HitHistory, hits_now_and_then_are_never_a_deviation) {
  HitHistory history;
  for (int minute = 0; minute < 1000; ++minute)
    EXPECT_FALSE(history.add(minute % 3 == 0 ? Minute::clear : Minute::hit)) << minute;
}

TEST(HitHistory, unknown_minutes_are_neither_hit_nor_clear) {
  HitHistory history;
  for (int minute = 0; minute < 7; ++minute)
    history.add(Minute::hit);
  for (int minute = 0; minute < 5; ++minute)
    EXPECT_FALSE(history.add(Minute::unknown));
  EXPECT_TRUE(history.add(Minute::hit));
  for (int minute = 0; minute < 1000; ++minute)
    EXPECT_TRUE(history.add(Minute::unknown));
}

TEST(HitHistory, hits_before_a_long_unknown_time_are_forgotten) {
  HitHistory history;
  for (int minute = 0; minute < 7; ++minute)
    history.add(Minute::hit);
  for (int minute = 0; minute < 10; ++minute)
    history.add(Minute::unknown);
  EXPECT_FALSE(history.add(Minute::hit));
}

TEST(HitHistory, without_persistence_each_minute_decides) {
  HitHistory history;
  EXPECT_TRUE(history.add(Minute::hit, kWithoutHistory));
  EXPECT_FALSE(history.add(Minute::clear, kWithoutHistory));
}

// Sequence lengths slow another random rank in each step.
TEST(HitHistory, random_slow_ranks_never_deviate_persistently) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): equal in each run
  std::vector<HitHistory> histories(64);
  for (int minute = 0; minute < 600; ++minute) {
    std::vector<float> values(64, 0.4F);
    for (int slow = 0; slow < 6; ++slow)
      values[random() % 64] = 0.5F;
    const PeerComparison found = find_outliers(values, rule_of("tensor_high"));
    std::vector<Minute> minutes(64, Minute::clear);
    for (const Outlier& hit : found.hits)
      minutes[hit.member] = Minute::hit;
    for (std::size_t at = 0; at < 64; ++at)
      EXPECT_FALSE(histories[at].add(minutes[at]));
  }
}

}  // namespace
}  // namespace autopilot::jobs
