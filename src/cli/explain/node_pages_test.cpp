// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/node_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;

Incident lost_gpu() {
  Incident incident;
  incident.id = "0123abcd-1";
  incident.reason = "gpu_fallen_off_bus";
  incident.health = Health::failed;
  incident.action = Action::power_cycle;
  incident.summary = "GPU 3 has fallen off the bus";
  incident.blamed.kind = SubjectKind::gpu;
  incident.blamed.key = "0000:3b:00.0";
  incident.blamed.index = 3;
  incident.end = FaultEnd::hardware;
  incident.because = "it no longer answers";
  IncidentMember member;
  member.check = "gpu.xid";
  member.finding.subject = incident.blamed;
  member.finding.health = Health::failed;
  member.finding.reason = incident.reason;
  member.finding.message = "Xid 79";
  member.finding.clears_when = "when the machine reboots";
  incident.members.push_back(member);
  return incident;
}

CheckResult result_of(std::string check, Finding finding, bool is_required) {
  CheckResult result;
  result.check = std::move(check);
  result.required = is_required;
  result.health = finding.health;
  result.findings.push_back(std::move(finding));
  return result;
}

TEST(NodePages, an_incident_states_what_to_do_and_what_clears_it) {
  const std::string page = page_text(explain(lost_gpu(), catalog::builtin()));
  for (const char* words :
       {"Incident 0123abcd-1: GPU 3 has fallen off the bus", "the hardware, not the program", "power",
        "when the machine reboots", "autopilot ack 0123abcd-1", "gpu_fallen_off_bus"})
    EXPECT_THAT(page, HasSubstr(words));
}

TEST(NodePages, what_is_wrong_is_listed_once_and_the_worst_first) {
  NodeSnapshot node;
  Incident incident = lost_gpu();
  CheckResults results;
  results.push_back(result_of(
      "host.clock", {.health = Health::unknown, .reason = "timed_out", .message = "no answer"}, true));
  results.push_back(result_of(
      "storage.nfs", {.health = Health::unknown, .reason = "not_permitted", .message = "denied"}, false));
  results.push_back(result_of("gpu.xid", incident.members[0].finding, true));
  node.results = results;
  node.incidents.push_back(incident);
  const auto pages = what_is_wrong(node, catalog::builtin());
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].id, "0123abcd-1");
  EXPECT_THAT(pages[1].title, HasSubstr("host.clock unknown: no answer"));
  EXPECT_TRUE(what_is_wrong(NodeSnapshot{}, catalog::builtin()).empty());
}

TEST(NodePages, the_verdict_is_explained) {
  NodeSnapshot node;
  node.node = "n1";
  node.health = Health::failed;
  node.verdict = Verdict::evict;
  node.coverage = {3, 4, {}};
  EXPECT_THAT(verdict_line(node),
              HasSubstr("n1 is failed, verdict EVICT; 3 of 4 checks ran. A finding takes"));
}

}  // namespace
}  // namespace autopilot::cli
