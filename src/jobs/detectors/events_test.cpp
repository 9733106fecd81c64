// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/events.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;

const WallTime kEventsNow{std::chrono::seconds(1767225600)};

XidRecord xid_after(Duration after, const std::string& node, int gpu, int code, std::string text = {}) {
  return {kEventsNow + after, node, gpu, code, std::move(text)};
}

JobRecord job_on(const std::vector<std::pair<std::string, int>>& places) {
  JobRecord job;
  for (const auto& [node, gpu] : places) {
    RankRecord& rank = job.ranks.emplace_back();
    rank.rank = static_cast<int>(job.ranks.size()) - 1;
    rank.node = node;
    rank.gpu = gpu;
  }
  return job;
}

TEST(Events, classes_of_xids_come_from_the_catalog) {
  for (const int code : {48, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143})
    EXPECT_EQ(classify_xid(code, {}), EventClass::hardware) << code;
  for (const int code : {13, 31, 43, 68, 69})
    EXPECT_EQ(classify_xid(code, {}), EventClass::application) << code;
  EXPECT_EQ(classify_xid(45, {}), EventClass::consequence);
  EXPECT_EQ(classify_xid(94, {}), EventClass::contained);
  EXPECT_EQ(classify_xid(61, {}), EventClass::degraded);
  for (const int code : {63, 92, 9999, 0, -1})
    EXPECT_EQ(classify_xid(code, {}), EventClass::info) << code;
}

TEST(Events, the_catalog_names_the_family_of_an_xid) {
  const auto family_of = [](int code) {
    EventMemory memory;
    memory.add(xid_after(0s, "a", 1, code));
    return memory.of_node("a", kEventsNow, kEventsNow + 1h).at(0).family;
  };
  for (const int memory_error : {48, 63, 64, 92, 94, 95})
    EXPECT_EQ(family_of(memory_error), Family::ecc) << memory_error;
  EXPECT_EQ(family_of(74), Family::nvlink);
  EXPECT_EQ(family_of(79), Family::pcie);
  EXPECT_EQ(family_of(99999), Family::pcie) << "not in the catalog";
}

TEST(Events, xid_154_means_what_the_driver_recommends) {
  EXPECT_EQ(classify_xid(154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
            EventClass::hardware);
  EXPECT_EQ(classify_xid(154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"),
            EventClass::info);
  EXPECT_EQ(classify_xid(154, ""), EventClass::info);
  EXPECT_EQ(classify_xid(154, "(("), EventClass::info);
}

TEST(Events, the_earliest_hardware_event_of_the_job_is_the_root) {
  EventMemory memory;
  memory.add(xid_after(-8min, "b", 1, 48));
  memory.add(xid_after(-2min, "a", 0, 79));
  memory.add(xid_after(-9min, "other", 0, 79));
  const auto root = memory.root_of(kEventsNow, job_on({{"a", 0}, {"b", 1}}));
  ASSERT_TRUE(root);
  EXPECT_EQ(to_string(root->entity), "GPU 1 of b");
  EXPECT_EQ(root->key, "xid_48");
}

TEST(Events, of_events_within_5_s_the_physical_fault_is_the_root) {
  EventMemory memory;
  memory.add(xid_after(-10s, "a", 1, 74));
  memory.add(xid_after(-9s, "a", 2, 119));
  memory.add(xid_after(-7s, "a", 3, 79));
  memory.add(xid_after(-4s, "a", 4, 79));  // later than 5 s after the first
  const auto root = memory.root_of(kEventsNow, std::vector<std::string>{"a"});
  ASSERT_TRUE(root);
  EXPECT_EQ(root->entity.gpu, 3);
}

TEST(Events, events_outside_the_window_are_not_the_root) {
  EventMemory memory;
  memory.add(xid_after(-11min, "a", 1, 79));
  memory.add(xid_after(6min, "a", 2, 79));
  EXPECT_FALSE(memory.root_of(kEventsNow, std::vector<std::string>{"a"}));
  memory.add(xid_after(5min, "a", 3, 79));
  EXPECT_TRUE(memory.root_of(kEventsNow, std::vector<std::string>{"a"}));
}

TEST(Events, an_application_error_never_accuses_a_node) {
  EventMemory memory;
  memory.add(xid_after(-1min, "a", 1, 31));
  memory.add(xid_after(-1min, "a", 1, 45));
  memory.add(xid_after(-1min, "a", 1, 63));
  EXPECT_FALSE(memory.root_of(kEventsNow, std::vector<std::string>{"a"}));
}

TEST(Events, a_gpu_that_the_job_does_not_use_is_not_its_root) {
  EventMemory memory;
  memory.add(xid_after(-1min, "a", 7, 79));
  EXPECT_FALSE(memory.root_of(kEventsNow, job_on({{"a", 0}, {"a", 1}})));
  EXPECT_TRUE(memory.root_of(kEventsNow, job_on({{"a", 7}})));
}

TEST(Events, a_degraded_part_is_the_root_only_if_nothing_failed) {
  EventMemory memory;
  memory.add(NodeFindingRecord{kEventsNow - 5min, "a", "gpu/2", "gpu.ecc", "ecc_high", Health::degraded});
  ASSERT_TRUE(memory.root_of(kEventsNow, std::vector<std::string>{"a", "b"}));
  memory.add(LinkRecord{kEventsNow - 1min, "b", "mlx5_0", false});
  EXPECT_EQ(to_string(memory.root_of(kEventsNow, std::vector<std::string>{"a", "b"})->entity), "mlx5_0 of b");
}

TEST(Events, a_finding_that_began_long_before_its_record_is_not_the_root) {
  EventMemory memory;
  NodeFindingRecord old{kEventsNow - 1min, "a", "gpu/2", "gpu.ecc", "ecc_high", Health::failed};
  old.since = kEventsNow - 24h;
  memory.add(old);
  EXPECT_FALSE(memory.root_of(kEventsNow, std::vector<std::string>{"a"}));
  old.since.reset();
  memory.add(old);
  EXPECT_TRUE(memory.root_of(kEventsNow, std::vector<std::string>{"a"})) << "old recordings";
}

TEST(Events, a_finding_that_most_nodes_had_before_the_job_is_evidence_against_none) {
  EventMemory memory;
  JobRecord job = job_on({{"a", 0}, {"b", 0}, {"c", 0}});
  job.time = kEventsNow - 2min;
  for (const char* node : {"a", "b"})
    memory.add(
        NodeFindingRecord{kEventsNow - 5min, node, "host", "host.kernel", "old_kernel", Health::failed});
  EXPECT_FALSE(memory.root_of(kEventsNow, job));
  // One node of three is not most of them, and a fault since the job began is evidence.
  memory.add(NodeFindingRecord{kEventsNow - 5min, "c", "gpu/0", "gpu.ecc", "ecc_high", Health::failed});
  EXPECT_EQ(memory.root_of(kEventsNow, job)->key, "ecc_high");
}

TEST(Events, a_finding_that_most_nodes_got_in_the_job_is_evidence) {
  EventMemory memory;
  JobRecord job = job_on({{"a", 0}, {"b", 0}, {"c", 0}});
  job.time = kEventsNow - 6min;
  for (const char* node : {"a", "b"})
    memory.add(
        NodeFindingRecord{kEventsNow - 5min, node, "host", "host.kernel", "old_kernel", Health::failed});
  EXPECT_EQ(memory.root_of(kEventsNow, job)->key, "old_kernel");
}

TEST(Events, an_unknown_health_is_not_an_event) {
  EventMemory memory;
  memory.add(NodeFindingRecord{kEventsNow, "a", "gpu/2", "gpu.ecc", "no_access", Health::unknown});
  memory.add(NodeFindingRecord{kEventsNow, "a", "gpu/x", "gpu.ecc", "no_access", Health::unsupported});
  EXPECT_TRUE(memory.of_node("a", kEventsNow - 1h, kEventsNow + 1h).empty());
}

TEST(Events, a_link_that_came_up_again_before_the_failure_is_not_its_root) {
  EventMemory memory;
  memory.add(LinkRecord{kEventsNow - 9min, "a", "mlx5_0", false});
  memory.add(LinkRecord{kEventsNow - 8min, "a", "mlx5_0", true});
  EXPECT_FALSE(memory.root_of(kEventsNow, std::vector<std::string>{"a"}));
  memory.add(LinkRecord{kEventsNow - 30s, "a", "mlx5_0", false});
  memory.add(LinkRecord{kEventsNow - 20s, "a", "mlx5_0", true});
  EXPECT_TRUE(memory.root_of(kEventsNow, std::vector<std::string>{"a"}));
}

TEST(Events, a_lost_node_is_a_root_until_it_is_back) {
  EventMemory memory;
  memory.add(NodeStateRecord{kEventsNow - 1min, "a", true});
  EXPECT_TRUE(memory.is_lost("a"));
  EXPECT_EQ(memory.root_of(kEventsNow, std::vector<std::string>{"a"})->key, "node_lost");
  memory.add(NodeStateRecord{kEventsNow, "a", false});
  EXPECT_FALSE(memory.is_lost("a"));
  EXPECT_FALSE(memory.is_lost("never seen"));
}

TEST(Events, repeats_are_one_event) {
  EventMemory memory;
  for (const Duration after : {0s, 2s, 4s, 40s, 42s})
    memory.add(xid_after(after, "a", 1, 79));
  memory.add(xid_after(41s, "a", 2, 79));  // another GPU
  memory.add(xid_after(43s, "a", 1, 48));  // another code
  const auto events = memory.of_node("a", kEventsNow, kEventsNow + 1h);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].count, 2);
  EXPECT_EQ(events[0].last, kEventsNow + 42s);
  memory.add(xid_after(10min, "a", 1, 79));
  EXPECT_EQ(memory.of_node("a", kEventsNow, kEventsNow + 1h).size(), 4U);
}

TEST(Events, an_earlier_record_that_arrives_late_moves_the_begin) {
  EventMemory memory;
  memory.add(xid_after(30s, "a", 1, 79));
  memory.add(xid_after(0s, "a", 1, 79));
  const auto events = memory.of_node("a", kEventsNow, kEventsNow + 1h);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].time, kEventsNow);
}

TEST(Events, memory_is_limited) {
  EventMemory memory({.nodes = 2, .events_of_node = 3});
  for (int i = 0; i < 10; ++i)
    memory.add(xid_after(i * 1h, "a", 1, 79));
  EXPECT_EQ(memory.of_node("a", kEventsNow, kEventsNow + 100h).size(), 3U);
  memory.add(xid_after(0s, "b", 1, 79));
  memory.add(xid_after(0s, "c", 1, 79));
  EXPECT_TRUE(memory.of_node("c", kEventsNow, kEventsNow + 1h).empty());
  EXPECT_EQ(memory.dropped(), 8U);
}

TEST(Events, events_are_evidence) {
  EventMemory memory;
  memory.add(xid_after(0s, "a", 1, 79));
  memory.add(xid_after(1s, "a", 1, 94));
  memory.add(xid_after(2s, "a", 1, 61));
  memory.add(xid_after(3s, "a", 1, 31));
  memory.add(xid_after(4s, "a", 1, 45));
  memory.add(LinkRecord{kEventsNow + 5s, "a", "mlx5_0", false});
  memory.add(NodeStateRecord{kEventsNow + 6s, "a", true});
  memory.add(NodeFindingRecord{kEventsNow + 7s, "a", "host", "host.memory", "edac", Health::failed});
  std::vector<std::string_view> signals;
  for (const Event& event : memory.of_node("a", kEventsNow, kEventsNow + 1min))
    signals.push_back(signal_of(event));
  EXPECT_EQ(signals, (std::vector<std::string_view>{"xid_hardware", "xid_hardware", "node_finding_degraded",
                                                    "xid_application", "", "nic_down", "node_lost",
                                                    "node_finding_failed"}));
}

TEST(Events, strange_input_names_no_culprit) {
  EventMemory memory;
  EXPECT_FALSE(memory.root_of(kEventsNow, std::vector<std::string>{}));
  EXPECT_FALSE(memory.root_of(kEventsNow, JobRecord{}));
  memory.add(XidRecord{kEventsNow, "", std::nullopt, -5, ""});
  EXPECT_FALSE(memory.root_of(kEventsNow, std::vector<std::string>{""}));
}

}  // namespace
}  // namespace autopilot::jobs
