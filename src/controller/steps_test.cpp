// SPDX-License-Identifier: Apache-2.0

#include "controller/steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/remediation.hpp"

namespace autopilot::controller {

namespace {

using namespace std::chrono_literals;

const WallTime kNow{1'800'000'000'123ms};

TEST(NodeMarks, are_read_as_they_are_written) {
  const Hold hold{.plan = "n1-0123456789", .since = kNow};
  EXPECT_EQ(parse_hold(format_hold(hold)), hold);
  EXPECT_EQ(format_hold(hold), R"({"plan":"n1-0123456789","since":"2027-01-15T08:00:00.123Z"})");
  const Probation probation{.plan = "p", .until = kNow + 72h, .next = kNow + 24h};
  EXPECT_EQ(parse_probation(format_probation(probation)), probation);
}

TEST(NodeMarks, what_says_nothing_is_of_no_plan) {
  for (const char* text : {"", "true", "{", "[]", R"({"plan": 7})", "\xff"}) {
    EXPECT_EQ(parse_hold(text), Hold{}) << text;
    EXPECT_EQ(parse_probation(text), Probation{}) << text;
  }
}

TEST(NodeMarks, have_the_prefix_of_the_installation) {
  const NodeMarks marks = node_marks("example.org");
  EXPECT_EQ(marks.held, "example.org/held");
  kube::Node node;
  EXPECT_FALSE(annotation(node, marks.held));
  node.meta.annotations["example.org/held"] = "x";
  EXPECT_EQ(annotation(node, marks.held), "x");
  EXPECT_TRUE(is_probation_taint({"example.org/probation", "", "PreferNoSchedule", {}}, marks));
  EXPECT_FALSE(is_probation_taint({"example.org/probation", "", "NoSchedule", {}}, marks))
      << "somebody else's";
}

using ::testing::HasSubstr;
using ::testing::Not;

const NodeMarks kMarks = node_marks("autopilot.ibm.com");

kube::Node free_node() {
  kube::Node node;
  node.meta.name = "n1";
  node.meta.version = "12";
  node.taints = {{"foreign", "v", "NoExecute", parse_time("2026-11-21T08:00:00Z")}};
  return node;
}
kube::Node held_node(const std::string& plan = "p") {
  kube::Node node = free_node();
  node.is_unschedulable = true;
  node.meta.annotations[kMarks.held] = format_hold({.plan = plan, .since = kNow});
  return node;
}
kube::Node cordoned_node() {
  kube::Node node = free_node();
  node.is_unschedulable = true;
  return node;
}

PlannedAction action(ActionKind kind) {
  PlannedAction action;
  action.kind = kind;
  action.plan = "p";
  action.cause = "gpu.pcie_bandwidth";
  return action;
}
Result<std::optional<Write>> step(ActionKind kind, const kube::Node& node) {
  return node_step(action(kind), node, kMarks, kNow);
}
std::string body(ActionKind kind, const kube::Node& node) {
  return step(kind, node).value().value().body;
}

TEST(NodeSteps, a_cordon_and_whose_it_is_are_one_write_of_the_version_that_was_seen) {
  const Write write = step(ActionKind::cordon, free_node()).value().value();
  EXPECT_EQ(write.method, Write::Method::merge_patch);
  EXPECT_EQ(write.path, "/api/v1/nodes/n1");
  EXPECT_EQ(write.body,
            R"({"metadata":{"resourceVersion":"12","annotations":{"autopilot.ibm.com/held":)"
            R"("{\"plan\":\"p\",\"since\":\"2027-01-15T08:00:00.123Z\"}"},)"
            R"("labels":{"autopilot.ibm.com/held":"gpu.pcie_bandwidth"}},"spec":{"unschedulable":true}})");
}

TEST(NodeSteps, a_cause_that_can_be_no_label_stands_in_the_plan_alone) {
  for (const std::string& cause :
       {std::string(), std::string("a b"), std::string("a."), std::string(64, 'a')})
    EXPECT_EQ(held_label(cause), "true") << cause;
  EXPECT_EQ(held_label("xid_79"), "xid_79");
}

TEST(NodeSteps, the_label_goes_with_the_annotation_and_also_alone) {
  kube::Node node = held_node();
  node.meta.labels[kMarks.held] = "gpu.pcie_bandwidth";
  EXPECT_THAT(body(ActionKind::uncordon, node), HasSubstr(R"("labels":{"autopilot.ibm.com/held":null})"));
  node.meta.annotations.clear();
  EXPECT_EQ(body(ActionKind::release, node),
            R"({"metadata":{"resourceVersion":"12","labels":{"autopilot.ibm.com/held":null}}})");
}

TEST(NodeSteps, a_cordon_that_is_there_is_done) {
  EXPECT_EQ(step(ActionKind::cordon, held_node()).value(), std::nullopt);
}

TEST(NodeSteps, no_cordon_of_somebody_else_is_touched) {
  EXPECT_EQ(step(ActionKind::cordon, cordoned_node()).error().code, Errc::conflict);
  EXPECT_EQ(step(ActionKind::cordon, held_node("another")).error().code, Errc::conflict);
  EXPECT_EQ(step(ActionKind::uncordon, held_node("another")).error().code, Errc::conflict);
  EXPECT_EQ(step(ActionKind::uncordon, cordoned_node()).value(), std::nullopt) << "it is not ours";
}

TEST(NodeSteps, gives_a_node_back_in_one_write) {
  EXPECT_EQ(body(ActionKind::uncordon, held_node()),
            R"({"metadata":{"resourceVersion":"12","annotations":{"autopilot.ibm.com/held":null}},)"
            R"("spec":{"unschedulable":null}})");
}

TEST(NodeSteps, leaves_a_cordon_that_became_somebody_elses) {
  EXPECT_THAT(body(ActionKind::release, held_node()), HasSubstr(R"("autopilot.ibm.com/held":null)"));
  EXPECT_THAT(body(ActionKind::release, held_node()), Not(HasSubstr("unschedulable")));
}

TEST(NodeSteps, a_probation_is_a_taint_among_others_and_when_it_ends) {
  PlannedAction taint = action(ActionKind::taint);
  EXPECT_FALSE(node_step(taint, free_node(), kMarks, kNow)) << "of no probation";
  taint.probation = Probation{.plan = "p", .until = kNow + 72h, .next = kNow + 24h};
  const std::string there =
      R"({"key":"foreign","effect":"NoExecute","value":"v","timeAdded":"2026-11-21T08:00:00Z"})";
  const std::string patch = node_step(taint, free_node(), kMarks, kNow).value().value().body;
  EXPECT_THAT(patch, HasSubstr("\"taints\":[" + there +
                               R"(,{"key":"autopilot.ibm.com/probation","effect":"PreferNoSchedule"}])"));
  EXPECT_THAT(patch, HasSubstr(R"("autopilot.ibm.com/probation":"{\"plan\":\"p\")"));

  kube::Node on_probation = free_node();
  on_probation.taints.push_back({"autopilot.ibm.com/probation", "", "PreferNoSchedule", {}});
  EXPECT_THAT(body(ActionKind::remove_taint, on_probation), HasSubstr("\"taints\":[" + there + "]"));
  EXPECT_THAT(body(ActionKind::remove_taint, on_probation),
              HasSubstr(R"("autopilot.ibm.com/probation":null)"));
}

TEST(NodeSteps, tells_the_agent_about_deep_tests) {
  EXPECT_THAT(body(ActionKind::deep_test, held_node()),
              HasSubstr(R"("autopilot.ibm.com/shall-test":"{\"plan\":\"p\")"));
  const auto grant = grant_test(free_node(), kMarks, kNow);
  ASSERT_TRUE(grant);
  EXPECT_THAT(grant->body, HasSubstr(R"("autopilot.ibm.com/may-test":"2027-01-15T08:00:00.123Z")"));
  kube::Node told = free_node();
  told.meta.annotations[kMarks.may_test] = "x";
  EXPECT_FALSE(grant_test(told, kMarks, kNow));
}

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
