// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/world_view.hpp"

#include <gtest/gtest.h>

#include "controller/node_marks.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;

const WallTime kViewed{1'800'000'000s};

kube::Node node() {
  kube::Node node;
  node.meta.name = "n1";
  node.meta.uid = "u-1";
  node.meta.version = "12";
  node.capacity = {{"cpu", 96}, {"nvidia.com/gpu", 8}};
  node.allocatable = {{"nvidia.com/gpu", 7}};
  node.conditions = {{"Ready", "True", "", "", {}, {}}};
  return node;
}

Node fact(const kube::Node& node, const NodeLook* look = nullptr, const Policy& policy = {}) {
  return node_fact(node, look, policy, {});
}

TEST(NodeFact, has_what_the_planner_asks_of_a_node) {
  const Node one = fact(node());
  EXPECT_EQ(one.name, "n1");
  EXPECT_EQ(one.uid, "u-1");
  EXPECT_EQ(one.version, "12");
  EXPECT_EQ(one.pool, Policy::kDefaultPool);
  EXPECT_EQ(one.gpus, 8) << "one that was lost is the node's still";
  EXPECT_TRUE(one.is_ready);
  EXPECT_FALSE(one.held);
  EXPECT_EQ(one.verdict, std::nullopt);
}

TEST(NodeFact, is_not_ready_where_nobody_says_so) {
  kube::Node sick = node();
  sick.conditions[0].status = "Unknown";
  EXPECT_FALSE(fact(sick).is_ready);
  sick.conditions.clear();
  EXPECT_FALSE(fact(sick).is_ready);
}

TEST(NodeFact, has_the_marks_of_holds_and_probation) {
  kube::Node held = node();
  held.is_unschedulable = true;
  held.meta.annotations["autopilot.ibm.com/held"] = format_hold({.plan = "p", .since = kViewed});
  EXPECT_EQ(fact(held).held, (Hold{.plan = "p", .since = kViewed}));
  held.meta.annotations["autopilot.ibm.com/held"] = "by me";
  EXPECT_EQ(fact(held).held, Hold{}) << "of no plan that we know";
  EXPECT_FALSE(fact(held).has_held_label);
  held.meta.labels["autopilot.ibm.com/held"] = "true";
  EXPECT_TRUE(fact(held).has_held_label);
  EXPECT_FALSE(fact(held).is_exempt);
  held.meta.labels["autopilot.ibm.com/hold"] = "disabled";
  EXPECT_TRUE(fact(held).is_exempt);

  kube::Node back = node();
  const Probation probation{.plan = "p", .until = kViewed + 72h, .next = kViewed + 24h};
  back.meta.annotations["autopilot.ibm.com/probation"] = format_probation(probation);
  EXPECT_EQ(fact(back).probation, std::nullopt) << "the taint was taken away";
  back.taints = {{"autopilot.ibm.com/probation", "", "PreferNoSchedule", {}}};
  EXPECT_EQ(fact(back).probation, probation);
}

TEST(NodeFact, believes_the_report_and_the_label_where_there_is_none) {
  kube::Node labelled = node();
  labelled.meta.labels["autopilot.ibm.com/gpuhealth"] = "WARN";
  labelled.meta.annotations["autopilot.ibm.com/checked-at"] = format_time(kViewed);
  EXPECT_EQ(fact(labelled).verdict, Verdict::warn);
  EXPECT_EQ(fact(labelled).looked, kViewed);
  NodeLook look;
  look.written = Verdict::evict;
  look.observed = kViewed - 1min;
  look.is_unknown = true;
  look.causes = {{.incident = "i-1"}};
  look.passed = {{"t", kViewed}};
  const Node both = fact(labelled, &look);
  EXPECT_EQ(both.verdict, Verdict::evict);
  EXPECT_EQ(both.looked, kViewed) << "whichever told last";
  EXPECT_TRUE(both.is_unknown);
  EXPECT_EQ(both.causes, look.causes);
  EXPECT_EQ(both.passed, look.passed);
}

TEST(NodeFact, is_in_the_pool_and_the_domain_that_its_labels_say) {
  Policy policy;
  policy.pools = {{.name = "h100", .selector = {{"gpu", "h100"}}, .rules = {}}};
  kube::Node labelled = node();
  labelled.meta.labels = {{"gpu", "h100"}, {"topology.kubernetes.io/zone", "z"}};
  EXPECT_EQ(fact(labelled, nullptr, policy).pool, "h100");
  EXPECT_EQ(fact(labelled).domain, "z");
  labelled.meta.labels["nvidia.com/gpu.clique"] = "c";
  EXPECT_EQ(fact(labelled).domain, "c");
  labelled.meta.labels["autopilot.ibm.com/failure-domain"] = "rack-3";
  EXPECT_EQ(fact(labelled).domain, "rack-3");
}

TEST(NodeFact, has_the_gpus_that_its_agent_knows_where_claims_give_them_out) {
  kube::Node claims = node();
  claims.capacity = {{"cpu", 96}};
  EXPECT_EQ(fact(claims).gpus, 0);
  NodeLook look;
  look.gpus = 8;
  EXPECT_EQ(fact(claims, &look).gpus, 8);
  EXPECT_FALSE(says_the_same(NodeLook{}, look));
  look.gpus = 4;
  EXPECT_EQ(fact(node(), &look).gpus, 8) << "some are lost to the agent";
}

TEST(NodeFact, says_the_same_when_only_the_agent_has_looked_again) {
  const Node one = fact(node());
  Node other = one;
  other.version = "13";
  other.looked = kViewed;
  EXPECT_TRUE(says_the_same(one, other));
  other.is_ready = false;
  EXPECT_FALSE(says_the_same(one, other));
}

kube::Pod pod() {
  kube::Pod pod;
  pod.meta.name = "train-0";
  pod.meta.name_space = "ml";
  pod.meta.uid = "p-1";
  pod.node = "n1";
  pod.phase = "Pending";
  pod.owner_api_version = "batch/v1";
  pod.owner_kind = "Job";
  pod.owner_name = "train";
  pod.owner_uid = "j-1";
  pod.devices = {{"nvidia.com/mig-1g.10gb", 2}, {"cpu", 5}};
  pod.priority = 7;
  return pod;
}

TEST(PodFact, has_what_the_planner_asks_of_a_pod) {
  const Pod one = pod_fact(pod(), {});
  EXPECT_EQ(one.uid, "p-1");
  EXPECT_EQ(one.owner, (Owner{.api_version = "batch/v1", .kind = "Job", .name = "train", .uid = "j-1"}));
  EXPECT_EQ(one.gpus, 2);
  EXPECT_EQ(one.priority, 7);
  EXPECT_FALSE(one.is_gated);
  EXPECT_FALSE(one.has_deschedule);
  kube::Pod lonely = pod();
  lonely.owner_uid.clear();
  lonely.meta.labels["deschedule"] = "";
  EXPECT_EQ(pod_fact(lonely, {}).owner, std::nullopt);
  EXPECT_TRUE(pod_fact(lonely, {}).has_deschedule);
}

TEST(PodFact, a_job_of_a_job_set_is_one_of_several) {
  EXPECT_EQ(pod_fact(pod(), {}).set, std::nullopt);
  kube::Pod one = pod();
  one.meta.labels["jobset.sigs.k8s.io/jobset-name"] = "pretrain";
  EXPECT_EQ(pod_fact(one, {}).set, std::nullopt) << "a name may be used again";
  one.meta.labels["jobset.sigs.k8s.io/jobset-uid"] = "s-1";
  EXPECT_EQ(
      pod_fact(one, {}).set,
      (Owner{.api_version = "jobset.x-k8s.io/v1alpha2", .kind = "JobSet", .name = "pretrain", .uid = "s-1"}));
}

TEST(PodFact, a_claim_is_one_for_a_gpu_at_least) {
  kube::Pod claims = pod();
  claims.devices = {};
  claims.device_claims = {"gpus", "more"};
  EXPECT_EQ(pod_fact(claims, {}).gpus, 2);
  EXPECT_EQ(pod_fact(claims, {.has_claims = false}).gpus, 0);
}

TEST(PodFact, is_gated_until_its_test_has_passed) {
  kube::Pod gated = pod();
  gated.init_containers = {{"autopilot-preflight", std::nullopt}, {"copy", std::nullopt}};
  EXPECT_TRUE(pod_fact(gated, {}).is_gated) << "it waits or runs";
  gated.init_containers[0].exit_code = 2;
  EXPECT_TRUE(pod_fact(gated, {}).is_gated);
  gated.init_containers[0].exit_code = 0;
  EXPECT_FALSE(pod_fact(gated, {}).is_gated);
}

TEST(PodFact, only_pods_with_accelerators_or_a_wish_are_of_interest) {
  EXPECT_TRUE(is_of_interest(pod(), {}));
  kube::Pod other = pod();
  other.devices = {{"cpu", 5}};
  EXPECT_FALSE(is_of_interest(other, {}));
  other.meta.labels["autopilot"] = "";
  EXPECT_TRUE(is_of_interest(other, {}));
  other.meta.labels.clear();
  other.device_claims = {"gpus"};
  EXPECT_TRUE(is_of_interest(other, {})) << "its devices may be GPUs";
  EXPECT_FALSE(is_of_interest(other, {.has_claims = false}));
  other.phase = "Failed";
  EXPECT_FALSE(is_of_interest(other, {}));
}

TEST(ReportFact, has_the_tests_that_failed_and_nothing_that_can_be_no_name) {
  kube::HealthCheckReport report;
  report.meta.name = "r";
  report.node = "n1";
  report.pod = {"ml", "train-0", "p-1"};
  report.job = kube::ReportedJob{"batch/v1", "Job", "../nodes", "j-1"};
  report.outcome = kube::ReportedOutcome::failed;
  report.message = "m";
  report.time = kViewed;
  report.phase = kube::ReportPhase::planned;
  report.findings = {
      {.subject = "gpu/0", .check = "t", .health = Health::failed, .reason = "slow", .message = "12"},
      {.subject = "gpu/1", .check = "t", .health = Health::healthy}};
  const Report fact = report_fact(report);
  EXPECT_EQ(fact.name, "r");
  EXPECT_EQ(fact.pod_uid, "p-1");
  EXPECT_EQ(fact.outcome, Outcome::failed);
  EXPECT_EQ(fact.phase, ReportPhase::planned);
  EXPECT_EQ(fact.failed, (std::vector<FailedTest>{{.test = "t", .reason = "slow", .message = "12"}}));
  EXPECT_EQ(fact.owner->name, "");
  report.outcome.reset();
  EXPECT_EQ(report_fact(report).outcome, Outcome::could_not_look) << "proves nothing";
}

}  // namespace
}  // namespace autopilot::controller
