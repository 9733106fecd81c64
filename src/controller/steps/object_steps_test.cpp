// SPDX-License-Identifier: Apache-2.0
#include "controller/steps/object_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/remediation.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const WallTime kSent{1'800'000'000'123ms};

PlannedAction action(ActionKind kind, Target target) {
  PlannedAction action;
  action.kind = kind;
  action.target = std::move(target);
  action.plan = "n1-1";
  action.why = "because";
  return action;
}

const Target kPod{
    .api_version = "v1", .kind = "Pod", .name_space = "ml", .name = "train-0", .uid = "u-1", .version = {}};

TEST(ObjectSteps, evict_the_pod_of_that_uid_and_no_other) {
  const Write write = remove_pod_step(action(ActionKind::evict_pod, kPod));
  EXPECT_EQ(write.method, Write::Method::create);
  EXPECT_EQ(write.path, "/api/v1/namespaces/ml/pods/train-0/eviction");
  EXPECT_EQ(write.body,
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"train-0","namespace":"ml"},)"
            R"("deleteOptions":{"preconditions":{"uid":"u-1"}}})");
}

TEST(ObjectSteps, delete_the_pod_of_that_uid_where_the_policy_says_so) {
  const Write write = remove_pod_step(action(ActionKind::delete_pod, kPod));
  EXPECT_EQ(write, (Write{Write::Method::remove, "/api/v1/namespaces/ml/pods/train-0",
                          R"({"preconditions":{"uid":"u-1"}})"}));
}

TEST(ObjectSteps, say_what_became_of_a_report_and_when) {
  kube::HealthCheckReport report;
  report.meta.name = "r1";
  report.meta.version = "12";
  PlannedAction mark = action(ActionKind::mark_report, {});
  mark.report_phase = ReportPhase::acted;
  const Write write = mark_report_step(mark, report, "autopilot", kSent);
  EXPECT_THAT(write.path, ::testing::EndsWith("/namespaces/autopilot/healthcheckreports/r1/status"));
  for (const char* part :
       {R"("resourceVersion":"12")", R"("phase":"Acted")", R"("plan":"n1-1")", R"("message":"because")",
        R"("acted":"2027-01-15T08:00:00.123Z")", R"("undone":null)"})
    EXPECT_THAT(write.body, HasSubstr(part));
  report.acted = kSent - 1h;
  mark.report_phase = ReportPhase::undone;
  const std::string undone = mark_report_step(mark, report, "autopilot", kSent).body;
  EXPECT_THAT(undone, HasSubstr(R"("acted":"2027-01-15T07:00:00.123Z")"));
  EXPECT_THAT(undone, HasSubstr(R"("undone":"2027-01-15T08:00:00.123Z")"));
}

TEST(ObjectSteps, ask_others_for_what_ends_the_incident) {
  Node node;
  node.causes = {{.incident = "i-1", .blamed = "gpu/0", .action = Action::replace},
                 {.incident = "i-2", .blamed = "gpu/1", .action = Action::reset_gpu}};
  PlannedAction ask = action(ActionKind::request, {.kind = "Node", .name = "n1", .uid = "u"});
  ask.request = Action::reset_gpu;
  kube::RemediationPlan plan;
  plan.meta.name = "n1-1";
  plan.meta.uid = "p-1";
  const Write write = request_step(ask, plan, &node, "autopilot", kSent);
  const auto asked = kube::parse_remediation_request(write.body);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->meta.name, "n1-1-reset-gpu");
  EXPECT_EQ(asked->spec.action, "reset_gpu");
  EXPECT_EQ(asked->spec.subject, "gpu/1");
  EXPECT_EQ(asked->spec.incident, "i-2");
  EXPECT_EQ(asked->spec.plan, "n1-1");
  EXPECT_THAT(write.body, HasSubstr(R"("uid":"p-1")"));
}

TEST(ObjectSteps, tell_people_about_the_object_and_of_ourselves_at_our_deployment) {
  PlannedAction event = action(ActionKind::event, kPod);
  event.reason = "PodMoved";
  const kube::EventFact fact = event_fact(event, "autopilot");
  EXPECT_EQ(fact.object, (kube::EventObject{"v1", "Pod", "ml", "train-0", "u-1"}));
  EXPECT_EQ(fact.type, kube::EventType::warning);
  EXPECT_EQ(fact.reason, "PodMoved");
  EXPECT_EQ(fact.message, "because");
  event.target = {.kind = "Controller"};
  event.is_warning = false;
  EXPECT_EQ(event_fact(event, "autopilot").object,
            (kube::EventObject{"apps/v1", "Deployment", "autopilot", "autopilot-controller", ""}));
  EXPECT_EQ(event_fact(event, "autopilot").type, kube::EventType::normal);
}

}  // namespace
}  // namespace autopilot::controller
