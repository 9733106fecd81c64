// SPDX-License-Identifier: Apache-2.0
#include "controller/steps/node_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kNow{1'800'000'000'123ms};
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

}  // namespace
}  // namespace autopilot::controller
