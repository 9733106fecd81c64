// SPDX-License-Identifier: Apache-2.0
// Incidents by the rules of the built-in catalog: one cause, one incident, whatever the order of its lines.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incidents/verdict.hpp"
#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::at;
using testing::Causes;
using testing::finding;
using testing::kGpu;
using testing::kOther;
using testing::kXid;

TEST_F(Causes, a_gpu_off_the_bus_takes_what_follows_from_it) {
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)}, {record(kGpu, "xid_sympathetic", 45, "python", "41"),
                                                record(kOther, "xid_sympathetic", 45, "python", "42")});
  now_ += minutes{3};
  round("gpu.present", {finding(kGpu, "gpu_lost"), finding(host_subject(), "gpu_count_low")});
  now_ += seconds{30};
  round("gpu.present", {finding(kGpu, "gpu_lost"), finding(host_subject(), "gpu_count_low")});
  const auto& incident = only();
  EXPECT_EQ(incident.cause, "gpu_off_bus");
  EXPECT_EQ(incident.end, FaultEnd::hardware);
  EXPECT_EQ(incident.blamed, kGpu);
  EXPECT_EQ(incident.health, Health::failed);
  EXPECT_EQ(incident.reason, "gpu_fallen_off_bus");
  EXPECT_FALSE(incident.because.empty());
  ASSERT_EQ(incident.members.size(), 5U);
  EXPECT_FALSE(incident.members[0].sympathetic);
  EXPECT_TRUE(std::is_sorted(incident.members.begin(), incident.members.end(),
                             [](const auto& a, const auto& b) { return a.finding.since < b.finding.since; }));
}

TEST_F(Causes, a_repeated_record_is_no_news_and_its_count_is_for_the_journal) {
  xid({}, {record(kGpu, "xid_sympathetic", 45, "python", "41")});
  EXPECT_FALSE(state_.has_recounted());
  now_ += seconds{1};
  EXPECT_TRUE(xid({}, {record(kGpu, "xid_sympathetic", 45, "python", "41")}).incidents.empty());
  EXPECT_TRUE(state_.has_recounted());
  const auto recounted = state_.take_recounted();
  ASSERT_EQ(recounted.size(), 1U);
  const Finding& counted = recounted[0].members.at(0).finding;
  EXPECT_EQ(*find_attribute(counted.evidence, "count"), Value{std::int64_t{2}});
  EXPECT_EQ(counted.last_seen, at(now_).wall);
  EXPECT_TRUE(state_.take_recounted().empty());
}

TEST_F(Causes, a_cause_told_after_its_consequences_takes_their_incident_over) {
  const auto first = xid({}, {record(kGpu, "xid_sympathetic", 45, "python", "41")});
  ASSERT_EQ(first.opened.size(), 1U);
  const auto id = *first.opened.begin();
  EXPECT_EQ(only().end, FaultEnd::unclear);
  EXPECT_EQ(only().health, Health::healthy);
  now_ += seconds{10};
  xid({coded(kGpu, "xid_memory", 48)});
  EXPECT_EQ(only().id, id);
  EXPECT_EQ(only().cause, "memory_uncorrected");
  EXPECT_EQ(only().reason, "xid_memory");
  EXPECT_EQ(only().end, FaultEnd::hardware);
  EXPECT_TRUE(only().members[0].sympathetic);
}

TEST_F(Causes, incidents_that_turn_out_to_be_one_are_merged) {
  xid({coded(kGpu, "xid_driver", 109)});
  now_ += seconds{5};
  xid({coded(kGpu, "xid_driver", 109)}, {record(kOther, "xid_sympathetic", 45, "train")});
  ASSERT_EQ(state_.incidents().size(), 1U);
  now_ += seconds{5};
  const auto changes = xid({coded(kGpu, "xid_driver", 109), coded(kGpu, "gpu_fallen_off_bus", 79)});
  EXPECT_EQ(only().cause, "gpu_off_bus");
  EXPECT_EQ(only().members.size(), 3U);
  EXPECT_EQ(changes.transitions.back().incident, only().id);
}

TEST_F(Causes, the_order_of_the_lines_does_not_matter) {
  std::vector<std::string> seen;
  std::vector<int> order{0, 1, 2};
  do {
    state_ = NodeState(lookup(), catalog::builtin().causes(), std::string(testing::kBoot));
    Findings standing;
    now_ = {};
    for (const int step : order) {
      now_ += seconds{1};
      Findings records;
      if (step == 0) standing.push_back(coded(kGpu, "xid_memory", 48));
      if (step == 1) records.push_back(record(kGpu, "xid_sympathetic", 45, "python"));
      if (step == 2) standing.push_back(finding(kGpu, "row_remap_pending", Health::degraded));
      xid(standing, records);
    }
    xid(standing);  // row_remap_pending counts after two looks
    seen.push_back(only().cause + " " + std::to_string(only().members.size()));
  } while (std::ranges::next_permutation(order).found);
  EXPECT_THAT(seen, ::testing::Each("memory_uncorrected 3"));
}

TEST_F(Causes, a_fault_of_a_program_is_an_incident_that_leaves_the_node_healthy) {
  const auto changes = xid({}, {record(kGpu, "xid_app", 31, "python", "4711")});
  const auto& incident = only();
  EXPECT_EQ(incident.end, FaultEnd::application);
  EXPECT_EQ(incident.health, Health::healthy);
  EXPECT_EQ(to_string(incident.blamed), "process/4711");
  EXPECT_TRUE(state_.findings(kXid).empty());
  EXPECT_EQ(changes.transitions.size(), 0U);
  now_ += minutes{11};
  const auto later = xid({});
  ASSERT_EQ(later.incidents.size(), 1U);
  EXPECT_EQ(later.incidents[0].closed_by, "expiry");
  EXPECT_TRUE(state_.incidents().empty());
}

TEST_F(Causes, one_job_on_several_gpus_is_one_incident_and_two_jobs_are_two) {
  xid({}, {record(kGpu, "xid_app", 31, "train", "1"), record(kOther, "xid_app", 31, "train", "2")});
  EXPECT_EQ(only().members.size(), 2U);
  xid({}, {record(kGpu, "xid_app", 31, "serve", "9")});
  EXPECT_EQ(state_.incidents().size(), 2U);
}

TEST_F(Causes, several_gpus_off_the_bus_at_once_blame_the_machine) {
  xid({coded(kGpu, "gpu_fallen_off_bus", 79), coded(kOther, "gpu_fallen_off_bus", 79)});
  EXPECT_EQ(only().blamed, host_subject());
  EXPECT_EQ(only().action, Action::inspect_hardware);
  EXPECT_LT(only().confidence, 0.8);
}

TEST_F(Causes, several_gpus_off_the_bus_do_not_make_a_milder_verdict_than_one) {
  const auto dead = [&](const Subject& gpu) {
    auto said = coded(gpu, "gpu_fallen_off_bus", 79);
    said.action = Action::power_cycle;
    return said;
  };
  const auto verdict = [&] {
    const auto incidents = state_.incidents();
    return verdict_of({{}, incidents, true, false, lookup()});
  };
  xid({dead(kGpu)});
  EXPECT_EQ(verdict(), Verdict::evict);
  xid({dead(kGpu), dead(kOther)});
  EXPECT_EQ(only().blamed, host_subject());
  EXPECT_EQ(verdict(), Verdict::evict);
  xid({});
  state_.gpu_was_reset(kGpu, at(now_));
  EXPECT_EQ(verdict(), Verdict::evict) << "the other one is still dead";
}

TEST_F(Causes, the_same_fault_on_two_gpus_an_hour_apart_is_two_incidents) {
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)});
  const auto first = coded(kGpu, "gpu_fallen_off_bus", 79);
  now_ += minutes{60};
  xid({first, coded(kOther, "gpu_fallen_off_bus", 79)});
  EXPECT_EQ(state_.incidents().size(), 2U);
}

TEST_F(Causes, a_switch_is_blamed_for_the_links_it_takes_down) {
  Subject nvswitch;
  nvswitch.kind = SubjectKind::nvswitch;
  nvswitch.key = "0000:c3:00.0";
  xid({coded(kGpu, "xid_nvlink", 74), coded(kOther, "xid_nvlink", 74)});
  EXPECT_EQ(only().cause, "nvlink_fault");
  now_ += seconds{2};
  xid({coded(kGpu, "xid_nvlink", 74), coded(kOther, "xid_nvlink", 74), coded(nvswitch, "xid_nvlink", 20034)});
  EXPECT_EQ(only().cause, "nvswitch_fault");
  EXPECT_EQ(only().blamed, nvswitch);
}

TEST_F(Causes, a_fatal_error_of_a_switch_takes_the_node_out) {
  Subject nvswitch;
  nvswitch.kind = SubjectKind::nvswitch;
  nvswitch.key = "0000:c3:00.0";
  auto fatal = coded(nvswitch, "xid_nvlink", 23001);
  fatal.action = Action::reboot_node;
  xid({fatal});
  const auto verdict = [&] {
    const auto incidents = state_.incidents();
    return verdict_of({{}, incidents, true, false, lookup()});
  };
  EXPECT_EQ(verdict(), Verdict::pass) << "the reason alone is not sure enough";
  fatal.evidence.emplace_back("confidence", catalog::builtin().sxid(23001)->confidence);
  xid({fatal});
  EXPECT_EQ(verdict(), Verdict::evict);
}

TEST_F(Causes, the_verdict_of_the_driver_outranks_the_table) {
  auto verdict = coded(kGpu, "xid_verdict", 154);
  verdict.action = Action::reboot_node;
  xid({coded(kGpu, "xid_fw", 119), verdict});
  EXPECT_EQ(only().reason, "xid_fw");
  EXPECT_EQ(only().action, Action::reboot_node);
}

TEST_F(Causes, one_end_of_a_link_is_not_said_to_be_the_first_of_several) {
  xid({coded(kGpu, "xid_nvlink", 74)});
  EXPECT_TRUE(only().because.find("both") == std::string::npos) << only().because;
}

TEST_F(Causes, an_incident_closes_when_its_last_finding_does_and_says_which_members_are_gone) {
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)});
  round("gpu.present", {finding(host_subject(), "gpu_count_low")});
  round("gpu.present", {finding(host_subject(), "gpu_count_low")});
  ASSERT_EQ(only().members.size(), 2U);
  xid({});
  state_.gpu_was_reset(kGpu, at(now_));
  EXPECT_EQ(only().state, IncidentState::open);
  EXPECT_TRUE(only().members[0].cleared.has_value());
  round("gpu.present", {});
  const auto last = round("gpu.present", {});
  EXPECT_TRUE(state_.incidents().empty());
  ASSERT_EQ(last.incidents.size(), 1U);
  EXPECT_EQ(last.incidents[0].closed_by, "healthy_rounds");
}

TEST_F(Causes, a_removed_channel_tells_the_cause_that_was_lost) {
  auto removed = record(kGpu, "xid_sympathetic", 45, "train", "41");
  removed.evidence.emplace_back("causedBy", std::int64_t{95});
  xid({}, {removed});
  EXPECT_EQ(only().cause, "memory_uncorrected");
  EXPECT_EQ(only().blamed, kGpu);
}

TEST_F(Causes, a_program_that_was_killed_is_named_and_its_gpu_is_not_blamed) {
  xid({}, {record(kGpu, "xid_sympathetic", 45, "train", "41")});
  EXPECT_EQ(only().cause, "work_cancelled");
  EXPECT_EQ(to_string(only().blamed), "process/41");
}

TEST_F(Causes, several_links_of_a_gpu_blame_the_gpu_and_one_link_blames_the_link) {
  const auto link = [](const std::string& number) {
    Subject subject;
    subject.kind = SubjectKind::nvlink;
    subject.key = kGpu.key + "/" + number;
    return subject;
  };
  xid({coded(link("3"), "xid_nvlink", 74)});
  EXPECT_EQ(only().blamed, link("3"));
  xid({coded(link("3"), "xid_nvlink", 74), coded(link("9"), "xid_nvlink", 74)});
  EXPECT_EQ(only().blamed, kGpu);
}

TEST_F(Causes, why_a_port_has_no_link_and_that_it_has_none_are_one_incident) {
  Subject port;
  port.kind = SubjectKind::nic_port;
  port.key = "eth0";
  Subject other = port;
  other.key = "eth1";
  const auto down = [this](const Subject& subject) {
    auto result = finding(subject, "link_down", Health::failed);
    result.since = at(now_).wall;
    return result;
  };
  const Findings both{down(port), down(other)};
  const auto look = [&](std::string_view check, const Findings& findings) {
    state_.complete_round(check, at(now_), findings, testing::answers({port, other}), {});
  };
  for (int i = 0; i < 3; ++i, now_ += seconds{30})
    look("network.ethernet_link", both);
  auto told = finding(port, "link_unplugged", Health::degraded);
  told.since = at(now_).wall;
  for (int i = 0; i < 2; ++i, now_ += minutes{1})
    look("network.optics", {told});
  const auto incidents = state_.incidents();
  ASSERT_EQ(incidents.size(), 2U) << "the other port has its own";
  const auto& joined =
      *std::ranges::find_if(incidents, [](const Incident& incident) { return incident.members.size() == 2; });
  EXPECT_EQ(to_string(joined.blamed), "nic_port/eth0");
  EXPECT_EQ(joined.cause, "ethernet_link");
}

Subject adapter_at(const std::string& address) {
  Subject subject;
  subject.kind = SubjectKind::nic_port;
  subject.key = address;
  return subject;
}

class CausesTold : public Causes {
 protected:
  // Now.
  [[nodiscard]] Finding told(Subject subject, const std::string& reason, Health health) const {
    auto result = finding(std::move(subject), reason, health);
    result.since = at(now_).wall;
    return result;
  }
};

TEST_F(CausesTold, an_adapter_that_stops_sending_and_a_stuck_processor_of_the_same_time_are_one_incident) {
  round("host.lockups", {told(host_subject(), "cpu_stuck", Health::degraded)});
  round("network.adapter", {told(adapter_at("0000:18:00.0"), "adapter_late", Health::degraded)});
  EXPECT_EQ(only().cause, "adapter_silent");
  EXPECT_EQ(only().end, FaultEnd::unclear);
  EXPECT_EQ(only().members.size(), 2U);
}

TEST_F(CausesTold, a_processor_that_is_stuck_at_another_time_is_an_incident_of_its_own) {
  round("network.adapter", {told(adapter_at("0000:18:00.0"), "adapter_late", Health::degraded)});
  now_ += minutes{10};
  round("host.lockups", {told(host_subject(), "cpu_stuck", Health::degraded)});
  EXPECT_EQ(state_.incidents().size(), 2U);
}

TEST_F(CausesTold, an_adapter_fails_because_it_is_hot_and_its_port_is_down_for_it) {
  const Subject adapter = adapter_at("0000:18:00.0");
  Finding hot = told(adapter, "adapter_hot", Health::degraded);
  hot.evidence.emplace_back("port", std::string("mlx5_0/1"));
  round("network.adapter", {hot});
  now_ += seconds{80};
  round("network.adapter", {hot, told(adapter, "adapter_failed", Health::failed)});
  for (int i = 0; i < 3; ++i)
    round("network.ib_port", {told(adapter_at("mlx5_0/1"), "ib_port_down", Health::failed)});
  EXPECT_EQ(only().cause, "adapter_heat");
  EXPECT_EQ(only().blamed, adapter);
  EXPECT_EQ(only().health, Health::failed);
  EXPECT_EQ(only().action, Action::check_mechanicals);
  EXPECT_EQ(only().members.size(), 3U);
}

TEST_F(CausesTold, a_device_that_does_not_answer_takes_the_failures_at_its_address_alone) {
  Subject link;
  link.kind = SubjectKind::link;
  link.key = "0000:18:00.0|0000:16:01.0";
  round("host.pcie", {told(link, "pcie_unreachable", Health::failed),
                      told(host_subject(), "iommu_no_answer", Health::degraded)});
  round("network.adapter", {told(adapter_at("0000:18:00.0"), "adapter_failed", Health::failed),
                            told(adapter_at("0000:29:00.0"), "adapter_failed", Health::failed)});
  const auto incidents = state_.incidents();
  ASSERT_EQ(incidents.size(), 2U);
  EXPECT_EQ(incidents[0].cause, "device_off_bus");
  EXPECT_EQ(incidents[0].members.size(), 3U);
  EXPECT_EQ(incidents[1].cause, "adapter_fault");
  EXPECT_EQ(incidents[1].blamed, adapter_at("0000:29:00.0"));
}

TEST_F(CausesTold, a_gpu_that_does_not_answer_is_off_the_bus_for_the_kernel_as_well) {
  round("host.pcie", {told(kGpu, "pcie_unreachable", Health::failed),
                      told(host_subject(), "iommu_no_answer", Health::degraded)});
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)});
  EXPECT_EQ(only().cause, "gpu_off_bus");
  EXPECT_EQ(only().members.size(), 3U);
}

TEST_F(CausesTold, a_gpu_that_the_driver_refuses_is_missing_for_that_reason) {
  for (const auto& [reason, cause] :
       {std::pair("gpu_unsupported", "gpu_driver_choice"), std::pair("gpu_bar_invalid", "gpu_addresses")}) {
    for (int i = 0; i < 3; ++i)
      round("gpu.present", {told(kGpu, "gpu_missing", Health::failed)});
    xid({told(kGpu, reason, Health::degraded)});
    EXPECT_EQ(only().cause, cause);
    EXPECT_EQ(only().members.size(), 2U);
    state_ = NodeState(lookup(), catalog::builtin().causes(), std::string(testing::kBoot));
  }
}

TEST_F(CausesTold, a_kernel_that_ends_with_a_machine_check_is_a_fault_of_the_hardware) {
  round("host.kernel", {told(host_subject(), "kernel_panic", Health::failed),
                        told(host_subject(), "kernel_machine_check", Health::degraded)});
  round("host.machine_check", {told(host_subject(), "external_abort", Health::failed)});
  EXPECT_EQ(only().cause, "machine_error");
  EXPECT_EQ(only().end, FaultEnd::hardware);
  EXPECT_EQ(only().members.size(), 3U);
}

TEST_F(Causes, a_gpu_that_lost_all_its_links_is_blamed_and_not_the_one_link_that_the_driver_named) {
  Subject link;
  link.kind = SubjectKind::nvlink;
  link.key = kGpu.key + "/0";
  xid({coded(link, "xid_nvlink", 149)});
  EXPECT_EQ(only().blamed, link);
  round("gpu.nvlink", {finding(kGpu, "nvlink_down")});
  now_ += seconds{30};
  round("gpu.nvlink", {finding(kGpu, "nvlink_down")});
  EXPECT_EQ(only().blamed, kGpu);
}

TEST_F(Causes, survive_a_restart_of_the_agent) {
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)}, {record(kGpu, "xid_sympathetic", 45, "python")});
  const auto before = only().id;
  restart();
  EXPECT_EQ(only().id, before);
  EXPECT_EQ(only().members.size(), 2U);
  now_ += seconds{30};
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)}, {record(kOther, "xid_app", 31, "other")});
  EXPECT_EQ(state_.incidents().size(), 2U);
}

TEST_F(Causes, injected_and_real_findings_never_share_an_incident) {
  auto injected = coded(kGpu, "gpu_fallen_off_bus", 79);
  injected.injected = true;
  xid({injected}, {record(kGpu, "xid_sympathetic", 45, "python")});
  EXPECT_EQ(state_.incidents().size(), 2U);
}

}  // namespace
}  // namespace autopilot::incidents
