// SPDX-License-Identifier: Apache-2.0
#include "incidents/incident_book.hpp"

#include <cstdint>
#include <gtest/gtest.h>

#include "incidents/evidence.hpp"
#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {

// Errors and lines as members of incidents, by the rules of the built-in catalog.

namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::at;
using testing::Causes;
using testing::finding;
using testing::kGpu;
using testing::kOther;

TEST_F(Causes, two_processes_of_one_name_are_two_members) {
  xid({}, {record(kGpu, "xid_app", 31, "python3", "100")});
  now_ += seconds{1};
  xid({}, {record(kGpu, "xid_app", 31, "python3", "200")});
  ASSERT_EQ(only().members.size(), 2U);
  EXPECT_EQ(to_string(*find_attribute(only().members[1].finding.evidence, "pid")), "200");
}

TEST_F(Causes, threads_of_one_process_are_one_member) {
  xid({}, {record(kGpu, "xid_app", 13, "pt_main_thread", "100")});
  now_ += seconds{1};
  xid({}, {record(kGpu, "xid_app", 13, "pt_autograd_0", "100")});
  ASSERT_EQ(only().members.size(), 1U);
  EXPECT_EQ(to_string(*find_attribute(only().members[0].finding.evidence, "count")), "2");
  xid({}, {record(kGpu, "xid_app", 31, "pt_autograd_1", "100")});
  EXPECT_EQ(only().members.size(), 2U) << "another error of the same process";
}

TEST_F(Causes, codes_of_one_reason_are_members_of_their_own_and_the_stronger_action_stays) {
  auto dbe = coded(kGpu, "xid_memory", 48);
  dbe.action = Action::drain_then_reset_gpu;
  auto remap = coded(kGpu, "xid_memory", 64);
  remap.action = Action::reset_gpu;
  auto recorded = coded(kGpu, "xid_memory", 63, Health::degraded);
  recorded.action = Action::drain_then_reset_gpu;
  const auto told = [&](const Findings& one_by_one) {
    state_ = NodeState(lookup(), catalog::builtin().causes(), std::string(testing::kBoot));
    Findings standing;
    now_ = {};
    for (Finding finding : one_by_one) {
      now_ += seconds{1};
      finding.since = at(now_).wall;
      standing.push_back(std::move(finding));
      xid(standing);
    }
    for (const IncidentMember& member : only().members)
      EXPECT_EQ(member.sympathetic, error_code(member.finding) == 63);
    return only().cause + " " + std::string(to_string(only().action)) + " " +
           std::to_string(only().members.size()) + " " + std::string(to_string(only().health));
  };
  for (const auto& order : {Findings{dbe, remap}, Findings{remap, dbe}})
    EXPECT_EQ(told(order), "memory_uncorrected reset_gpu 2 failed");
  for (const auto& order : {Findings{dbe, recorded}, Findings{recorded, dbe}})
    EXPECT_EQ(told(order), "memory_uncorrected drain_then_reset_gpu 2 failed");
}

TEST_F(Causes, a_further_process_with_the_error_of_a_finding_is_a_member_with_its_own_line) {
  const auto said_by = [&](const std::string& pid) {
    auto said = coded(kGpu, "xid_memory", 95);
    said.evidence.insert(said.evidence.end(), {{"line", "of " + pid}, {"pid", pid}});
    return said;
  };
  const auto first = said_by("41");
  xid({first}, {first});
  ASSERT_EQ(only().members.size(), 1U) << "the finding itself tells it";
  now_ += seconds{5};
  const auto second = said_by("42");
  EXPECT_EQ(xid({second}, {second}).incidents.size(), 1U);
  now_ += seconds{5};
  EXPECT_TRUE(xid({second}, {second}).empty()) << "counted";
  ASSERT_EQ(only().members.size(), 2U);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(to_string(*find_attribute(only().members[i].finding.evidence, "pid")), i == 0 ? "41" : "42");
    EXPECT_EQ(to_string(*find_attribute(only().members[i].finding.evidence, "line")),
              i == 0 ? "of 41" : "of 42");
  }
  EXPECT_FALSE(only().members[1].sympathetic);
}

TEST_F(Causes, a_line_of_an_error_without_its_finding_opens_nothing) {
  EXPECT_TRUE(xid({}, {coded(kGpu, "xid_memory", 48)}).empty());
}

TEST_F(Causes, pcie_errors_of_a_gpu_that_falls_off_the_bus_belong_to_it) {
  const auto pcie = finding(kGpu, "pcie_aer_correctable", Health::degraded);
  round("gpu.pcie_link", {pcie});
  round("gpu.pcie_link", {pcie});
  EXPECT_EQ(only().cause, "pcie_signal");
  now_ += minutes{10};
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)});
  EXPECT_EQ(only().cause, "gpu_off_bus");
  EXPECT_EQ(only().members.size(), 2U);
}

TEST_F(Causes, pcie_error_lines_wait_for_the_gpu_to_fall_off_the_bus) {
  const auto line = [&](const Subject& gpu, const std::string& rule) {
    auto said = finding(gpu, "pcie_error_line", Health::healthy);
    said.since = said.last_seen = at(now_).wall;
    said.evidence = {{"rule", rule}};
    return said;
  };
  EXPECT_TRUE(round("host.pcie", {}, {line(kGpu, "pcie.aer"), line(kOther, "pcie.aer")}).empty());
  now_ += minutes{5};
  EXPECT_TRUE(round("host.pcie", {}, {line(kGpu, "pcie.aer"), line(kGpu, "pcie.bus_error")}).empty());
  now_ += seconds{2};
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)});
  ASSERT_EQ(only().members.size(), 3U) << "not those of another GPU";
  EXPECT_TRUE(only().members[0].sympathetic);
  now_ += seconds{2};
  round("host.pcie", {}, {line(kGpu, "pcie.error_detail")});
  EXPECT_EQ(only().members.size(), 4U);
}

TEST_F(Causes, the_confidence_is_that_of_the_error_itself) {
  auto c2c = coded(kGpu, "xid_c2c", 173);
  c2c.evidence.emplace_back("confidence", 0.85);
  xid({c2c});
  EXPECT_EQ(only().confidence, 0.85);
}

TEST_F(Causes, one_process_that_repeats_its_fault_is_one_incident) {
  xid({}, {record(kGpu, "xid_app", 13, "sampler", "41")});
  now_ += minutes{3};
  xid({}, {record(kGpu, "xid_app", 13, "sampler", "41")});
  EXPECT_EQ(only().cause, "application_fault");
  now_ += minutes{3};
  xid({}, {record(kGpu, "xid_app", 13, "sampler", "99")});
  EXPECT_EQ(state_.incidents().size(), 2U);
}

TEST_F(Causes, a_storm_of_consequences_stays_one_incident_with_a_count) {
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)});
  int told = 0;
  for (int i = 0; i < 1000; ++i) {
    auto storm = record(kGpu, "xid_sympathetic", 45, "python", std::to_string(i));
    storm.evidence.emplace_back("count", std::int64_t{168});
    told += xid({coded(kGpu, "gpu_fallen_off_bus", 79)}, {storm}).empty() ? 0 : 1;
  }
  EXPECT_EQ(told, static_cast<int>(kMaxProcessesOfOneError));
  ASSERT_EQ(only().members.size(), kMaxProcessesOfOneError + 1);
  std::int64_t count = 0;
  for (const IncidentMember& member : only().members)
    if (is_record(member.finding))
      count +=
          static_cast<std::int64_t>(as_number(*find_attribute(member.finding.evidence, "count")).value_or(0));
  EXPECT_EQ(count, 168'000);
}

TEST_F(Causes, programs_that_never_stop_failing_stay_within_the_limits) {
  for (int i = 0; i < 500; ++i) {
    now_ += seconds{1};
    xid({}, {record(kGpu, "xid_app", 31, "program" + std::to_string(i))});
  }
  EXPECT_LE(state_.incidents().size(), IncidentBook::kMaxOfRecords);
  now_ += minutes{1};
  Findings programs;
  for (int i = 0; i < 200; ++i)
    programs.push_back(record(kGpu, "xid_sympathetic", 45, "victim" + std::to_string(i)));
  xid({coded(kGpu, "gpu_fallen_off_bus", 79)}, programs);
  for (const auto& incident : state_.incidents())
    EXPECT_LE(incident.members.size(), Incident::kMaxMembers);
}

}  // namespace

}  // namespace autopilot::incidents
