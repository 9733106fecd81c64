// SPDX-License-Identifier: Apache-2.0
#include "report/event_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Subject kEventGpu{.kind = SubjectKind::gpu, .key = "0000:3b:00.0", .index = {}};

Event incident_event(EventKind kind) {
  Event event;
  event.kind = kind;
  event.check = "gpu.row_remap";
  event.subject = kEventGpu;
  event.health = Health::failed;
  event.reason = "row_remap_failed";
  event.message = "a row could not be remapped";
  event.details = {{"incident", "ab-3"}, {"action", "replace"}};
  return event;
}

NodeSnapshot with_incident() {
  Finding finding;
  finding.subject = kEventGpu;
  finding.evidence = {{"value", std::int64_t{9}}, {"threshold", std::int64_t{0}}};
  Incident incident;
  incident.id = "ab-3";
  incident.members.push_back({"gpu.row_remap", finding, false, {}});
  GpuUser gpu_user;
  gpu_user.owner.pod_namespace = "ml";
  gpu_user.owner.pod = "train-0";
  incident.gpu_users.push_back(gpu_user);
  NodeSnapshot snapshot;
  snapshot.incidents.push_back(incident);
  return snapshot;
}

TEST(EventWords, an_incident_says_what_to_do_whom_it_concerns_and_why) {
  const auto fact = fact_of(incident_event(EventKind::incident_opened), with_incident());
  EXPECT_EQ(fact.type, kube::EventType::warning);
  EXPECT_EQ(fact.reason, "RowRemapFailed");
  EXPECT_EQ(fact.message,
            "gpu/0000:3b:00.0: a row could not be remapped. Action: replace the hardware (replace); concerns "
            "pod ml/train-0; value 9, "
            "threshold 0; incident ab-3");
}

TEST(EventWords, the_line_of_a_log_is_the_evidence) {
  NodeSnapshot snapshot = with_incident();
  snapshot.incidents.front().members.front().finding.evidence = {{"line", std::string("NVRM: Xid 64")}};
  EXPECT_THAT(fact_of(incident_event(EventKind::incident_opened), snapshot).message,
              HasSubstr("; line: NVRM: Xid 64; incident ab-3"));
}

TEST(EventWords, an_incident_that_is_gone_is_told_as_far_as_it_is_known) {
  const auto fact = fact_of(incident_event(EventKind::incident_opened), NodeSnapshot{});
  EXPECT_EQ(
      fact.message,
      "gpu/0000:3b:00.0: a row could not be remapped. Action: replace the hardware (replace); incident ab-3");
}

TEST(EventWords, a_fault_of_a_program_is_no_warning_about_the_node) {
  Event event = incident_event(EventKind::incident_opened);
  event.health = Health::healthy;
  event.details = {{"incident", std::string("ab-3")}, {"action", std::string("none")}};
  const auto fact = fact_of(event, NodeSnapshot{});
  EXPECT_EQ(fact.type, kube::EventType::normal);
  EXPECT_THAT(fact.message, Not(HasSubstr("do:")));
}

TEST(EventWords, an_incident_that_is_over_says_what_ended_it) {
  Event event = incident_event(EventKind::incident_closed);
  event.details.emplace_back("closedBy", std::string("gpu_replaced"));
  const auto fact = fact_of(event, with_incident());
  EXPECT_EQ(fact.type, kube::EventType::normal);
  EXPECT_EQ(fact.reason, "IncidentClosed");
  EXPECT_EQ(fact.message,
            "gpu/0000:3b:00.0: a row could not be remapped; closed by gpu_replaced; incident ab-3");
}

TEST(EventWords, a_refused_configuration_is_told) {
  Event event;
  event.kind = EventKind::configuration_refused;
  event.message = "the new configuration is refused";
  ASSERT_TRUE(is_told(event));
  const auto fact = fact_of(event, NodeSnapshot{});
  EXPECT_EQ(fact.type, kube::EventType::warning);
  EXPECT_EQ(fact.reason, "ConfigurationRefused");
  EXPECT_THAT(fact.message, StartsWith("the new configuration"));
}

TEST(EventWords, what_was_injected_and_every_day_life_are_not_told) {
  Event event = incident_event(EventKind::incident_opened);
  EXPECT_TRUE(is_told(event));
  event.injected = true;
  EXPECT_FALSE(is_told(event));
  for (const EventKind kind :
       {EventKind::agent_started, EventKind::finding_raised, EventKind::kernel_record}) {
    Event other;
    other.kind = kind;
    EXPECT_FALSE(is_told(other)) << to_string(kind);
  }
}

TEST(EventWords, reasons_are_one_word) {
  EXPECT_EQ(camel_case("row_remap_failed"), "RowRemapFailed");
  EXPECT_EQ(camel_case("xid_79"), "Xid79");
  EXPECT_EQ(camel_case(""), "");
  EXPECT_EQ(camel_case("_a._b_"), "AB");
}

}  // namespace
}  // namespace autopilot::report
