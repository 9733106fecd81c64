// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/episodes.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <limits>

namespace autopilot::learning {
namespace {

using std::chrono::hours;

NodeFault episode_fault(std::string node, double begin, std::optional<double> end,
                        FaultClass kind = FaultClass::hardware) {
  return {std::move(node), begin, end, kind, false, ""};
}

TEST(HazardEpisodes, overlapping_faults_of_a_node_count_once) {
  const auto fleet =
      make_fleet_history({episode_fault("a", 1, 5), episode_fault("a", 2, 3), episode_fault("a", 4, 9),
                          episode_fault("a", 9, 10), episode_fault("b", 4, 6)},
                         10, 20);
  ASSERT_TRUE(fleet) << fleet.error().what;
  ASSERT_EQ(fleet->nodes.size(), 2U);
  EXPECT_EQ(fleet->without_fault, 8U);
  ASSERT_EQ(fleet->nodes[0].episodes.size(), 2U);
  EXPECT_EQ(fleet->nodes[0].episodes[0].begin_day, 1);
  EXPECT_EQ(fleet->nodes[0].episodes[0].end_day, 9);
  EXPECT_EQ(fleet->nodes[0].episodes[1].end_day, 10);
}

TEST(HazardEpisodes, a_fault_without_an_end_keeps_the_node_out_of_service) {
  const auto fleet = make_fleet_history(
      {episode_fault("a", 1, {}), episode_fault("a", 2, 3), episode_fault("a", 8, 9)}, 1, 20);
  ASSERT_TRUE(fleet);
  ASSERT_EQ(fleet->nodes[0].episodes.size(), 1U);
  EXPECT_FALSE(fleet->nodes[0].episodes[0].end_day);
  EXPECT_FALSE(is_in_service(fleet->nodes[0], 15));
  EXPECT_EQ(service_days(*fleet, 0, 20), 1);
}

TEST(HazardEpisodes, faults_of_applications_are_not_faults_of_the_node) {
  const auto fleet = make_fleet_history({episode_fault("a", 1, 2, FaultClass::application)}, 3, 20);
  ASSERT_TRUE(fleet);
  EXPECT_TRUE(fleet->nodes.empty());
  EXPECT_EQ(fleet->without_fault, 3U);
}

TEST(HazardEpisodes, the_class_of_joined_faults_is_hardware_if_one_is) {
  const auto fleet = make_fleet_history(
      {episode_fault("a", 1, 5, FaultClass::unknown), episode_fault("a", 2, 3, FaultClass::hardware)}, 1, 20);
  ASSERT_TRUE(fleet);
  EXPECT_EQ(fleet->nodes[0].episodes[0].kind, FaultClass::hardware);
}

TEST(HazardEpisodes, days_in_service_leave_out_episodes_and_what_is_outside) {
  const NodeHistory node{"a", {{2, 4.0, {}, false, {}}, {10, 11.0, {}, false, {}}}};
  EXPECT_DOUBLE_EQ(service_days(node, 0, 20), 17);
  EXPECT_DOUBLE_EQ(service_days(node, 3, 10.5), 6);
  EXPECT_DOUBLE_EQ(service_days(node, 2.5, 3.5), 0);
  const auto intervals = service_intervals(node, 3, 20);
  ASSERT_EQ(intervals.size(), 2U);
  EXPECT_EQ(intervals[0].from_day, 4);
  EXPECT_EQ(intervals[1].from_day, 11);
}

TEST(HazardEpisodes, a_node_is_out_of_service_from_the_begin_until_the_end) {
  const NodeHistory node{"a", {{2, 4.0, {}, false, {}}}};
  EXPECT_TRUE(is_in_service(node, 1.9));
  EXPECT_FALSE(is_in_service(node, 2));
  EXPECT_TRUE(is_in_service(node, 4));
  EXPECT_EQ(last_return(node, 3.9), std::nullopt);
  EXPECT_EQ(last_return(node, 4), 4);
  EXPECT_EQ(begins_between(node, 2, 5), 0U);
  EXPECT_EQ(begins_between(node, 1, 2), 1U);
}

TEST(HazardEpisodes, impossible_times_are_refused_with_the_node) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const NodeFault& fault :
       {episode_fault("node-7", nan, {}), episode_fault("node-7", -1, 2), episode_fault("node-7", 3, 2),
        episode_fault("node-7", 3, 21), episode_fault("node-7", 3, nan)}) {
    const auto fleet = make_fleet_history({fault}, 1, 20);
    ASSERT_FALSE(fleet);
    EXPECT_EQ(fleet.error().code, Errc::malformed);
    EXPECT_NE(fleet.error().what.find("node-7"), std::string::npos) << fleet.error().what;
  }
  EXPECT_FALSE(make_fleet_history({}, 1, 0));
  EXPECT_FALSE(make_fleet_history({}, 1, nan));
}

TEST(HazardEpisodes, the_fleet_cannot_be_smaller_than_its_nodes_with_a_fault) {
  const auto fleet = make_fleet_history({episode_fault("a", 1, 2), episode_fault("b", 1, 2)}, 1, 20);
  ASSERT_FALSE(fleet);
  EXPECT_EQ(fleet.error().code, Errc::malformed);
  EXPECT_EQ(make_fleet_history({episode_fault("a", 1, 2)}, std::nullopt, 20)->node_count(), 1U);
}

TEST(HazardEpisodes, limits_are_errors) {
  EXPECT_EQ(make_fleet_history({}, kMostNodes + 1, 20).error().code, Errc::exhausted);
  std::vector<NodeFault> faults;
  for (std::size_t i = 0; i <= kMostEpisodesOfNode; ++i)
    faults.push_back(episode_fault("a", static_cast<double>(i), static_cast<double>(i) + 0.5));
  EXPECT_EQ(make_fleet_history(faults, 1, 3000).error().code, Errc::exhausted);
}

TEST(HazardEpisodes, records_of_history_become_faults_of_their_nodes) {
  const WallTime origin{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};
  Fault fault;
  fault.id = "f1";
  fault.place = {"prod", "gpu-1", "serial"};
  fault.begin = origin + hours{36};
  fault.end = origin + hours{48};
  fault.kind = FaultClass::network;
  fault.check = "net.link";
  fault.job = "job-1";
  Fault old = fault;
  old.begin = origin - hours{48};
  old.end = origin - hours{24};
  Fault across = fault;
  across.begin = origin - hours{24};
  Label label;
  label.fault = "f1";
  label.answer = LabelAnswer::healthy;
  const std::vector<Fault> faults{fault, old, across};
  const auto found = node_faults(faults, std::vector<Label>{label}, origin);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].node, "prod/gpu-1");
  EXPECT_DOUBLE_EQ(found[0].begin_day, 1.5);
  EXPECT_DOUBLE_EQ(*found[0].end_day, 2);
  EXPECT_TRUE(found[0].is_cleared);
  EXPECT_EQ(found[0].job, "job-1");
  EXPECT_EQ(found[1].begin_day, 0);
  EXPECT_EQ(time_of(1.5, origin), fault.begin);
}

TEST(HazardEpisodes, jobs_that_a_standing_fault_hits_are_not_further_faults) {
  const WallTime origin{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};
  Fault lost;
  lost.id = "xid 79";
  lost.place = {"", "gpu-1", "serial"};
  lost.begin = origin + hours{24};
  lost.end = origin + hours{48};
  lost.kind = FaultClass::hardware;
  lost.check = "gpu.xid";
  std::vector<Fault> faults{lost};
  for (int hour : {0, 10, 20, 30}) {  // the last one after the node is in service again
    Fault hit = lost;
    hit.id = "hit " + std::to_string(hour);
    hit.begin = lost.begin + hours{hour};
    hit.end = hit.begin + std::chrono::seconds{2};
    hit.check = "";
    hit.job = "job " + std::to_string(hour);
    faults.push_back(hit);
  }
  const auto fleet = make_fleet_history(node_faults(faults, {}, origin), 1, 20);
  ASSERT_TRUE(fleet) << fleet.error().what;
  ASSERT_EQ(fleet->nodes.size(), 1U);
  ASSERT_EQ(fleet->nodes[0].episodes.size(), 1U);
  EXPECT_DOUBLE_EQ(last_return(fleet->nodes[0], 20).value_or(0), 2);
}

}  // namespace
}  // namespace autopilot::learning
