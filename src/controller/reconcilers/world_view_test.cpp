// SPDX-License-Identifier: Apache-2.0

#include "controller/reconcilers/world_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/steps.hpp"
#include "kube/objects.hpp"

namespace autopilot::controller {

namespace {

using ::testing::IsEmpty;

NodeReport read(const std::string& status) {
  NodeReport look;
  const std::string text = R"({"metadata": {"name": "n1"}, "status": )" + status + "}";
  EXPECT_TRUE(
      kube::read_object(text, [&look](const kube::JsonObject& object) { look = parse_node_report(object); }));
  return look;
}

std::string incidents(const std::string& more, const std::string& evicting) {
  return R"({"observedAt": "2026-11-21T08:00:00Z", "written": {"verdict": "EVICT", "evicting": [)" +
         evicting +
         R"(]}, "incidents": [{"id": "i-1", "state": "open", "check": "gpu.xid", "reason": "xid_79",
            "blamed": {"kind": "gpu", "key": "0000:3b:00.0"}, "health": "failed", "action": "power_cycle",
            "opened": "2026-11-21T07:00:00Z")" +
         more + "}]}";
}
const std::string kHolds = R"({"incident": "i-1", "acknowledged": false})";

TEST(NodeReport, has_the_incidents_that_take_the_node_out_of_service) {
  const NodeReport look = read(incidents("", kHolds));
  EXPECT_EQ(look.meta.name, "n1");
  EXPECT_EQ(look.written, Verdict::evict);
  EXPECT_EQ(look.observed, parse_time("2026-11-21T08:00:00Z"));
  ASSERT_EQ(look.causes.size(), 1U);
  EXPECT_EQ(look.causes[0], (OpenCause{.incident = "i-1",
                                       .cause = "xid_79",
                                       .blamed = "gpu/0000:3b:00.0",
                                       .action = Action::power_cycle,
                                       .since = *parse_time("2026-11-21T07:00:00Z"),
                                       .is_passive = true}));
  EXPECT_EQ(read(incidents(R"(, "cause": "fallen_off")", kHolds)).causes[0].cause, "fallen_off");
}

TEST(NodeReport, has_none_that_holds_nothing_is_closed_was_seen_by_a_person_or_was_tried_out) {
  EXPECT_THAT(read(incidents("", "")).causes, IsEmpty());
  EXPECT_THAT(read(incidents("", R"({"incident": "i-1", "acknowledged": true})")).causes, IsEmpty());
  EXPECT_THAT(read(incidents("", R"({"incident": "i-1", "closed": "2026-11-21T08:00:00Z"})")).causes,
              IsEmpty());
  EXPECT_THAT(read(incidents(R"(, "injected": true)", kHolds)).causes, IsEmpty());
}

TEST(NodeReport, knows_what_a_test_has_shown) {
  for (const std::string check : {"gpu.diagnosis", "gpu.dcgm", "gpu.pcie_bandwidth", "gpu.memory_bandwidth",
                                  "gpu.compute", "gpu.memory_test", "gpu.sdc", "gpu.p2p"}) {
    const std::string text = R"({"written": {"evicting": [{"incident": "i-1"}]}, "incidents": [
    {"id": "i-1", "check": ")" +
                             check + R"(", "reason": "something"}]})";
    EXPECT_FALSE(read(text).causes.at(0).is_passive) << check;
  }
}

TEST(NodeReport, a_test_was_passed_when_every_gpu_has_and_then_by_the_oldest) {
  const std::string passes = R"([
    {"gpuUuid": "A", "test": "t", "time": "2026-11-21T08:00:00Z"}, {"gpuUuid": "B", "test": "t", "time": "2026-11-21T07:00:00Z"},
    {"gpuUuid": "B", "test": "t", "time": "2026-11-21T06:00:00Z"}, {"gpuUuid": "A", "test": "other", "time": "2026-11-21T08:00:00Z"},
    {"gpuUuid": "B", "test": "other"}])";
  const auto with = [&](const std::string& gpus) {
    return read(R"({"gpus": )" + gpus + R"(, "passRecords": )" + passes + "}").passed;
  };
  const auto passed = with(R"([{"uuid": "A"}, {"uuid": "B"}])");
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_EQ(passed.at("t"), parse_time("2026-11-21T07:00:00Z"));
  EXPECT_THAT(with(R"([{"uuid": "A"}, {"uuid": "C"}])").count("t"), 0U);
  EXPECT_THAT(with(R"([{"uuid": "A"}, {"key": "one that is lost"}])"), IsEmpty());
  EXPECT_THAT(with("[]"), IsEmpty());
}

TEST(NodeReport, is_unknown_where_a_required_check_has_not_looked) {
  const auto with = [](const char* required, const char* health) {
    return read(std::string(R"({"checks": [{"check": "c", "required": )") + required + R"(, "health": ")" +
                health + R"("}]})")
        .is_unknown;
  };
  EXPECT_TRUE(with("true", "unknown"));
  EXPECT_FALSE(with("false", "unknown"));
  EXPECT_FALSE(with("true", "failed"));
}

TEST(NodeReport, says_the_same_at_another_time) {
  const NodeReport one = read(incidents("", kHolds));
  NodeReport other = one;
  other.observed = parse_time("2026-11-21T09:00:00Z");
  other.meta.version = "9";
  EXPECT_TRUE(says_the_same(one, other));
  other.causes.clear();
  EXPECT_FALSE(says_the_same(one, other));
}

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

Node fact(const kube::Node& node, const NodeReport* look = nullptr, const Policy& policy = {}) {
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
  NodeReport look;
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
  NodeReport look;
  look.gpus = 8;
  EXPECT_EQ(fact(claims, &look).gpus, 8);
  EXPECT_FALSE(says_the_same(NodeReport{}, look));
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

const WallTime kWritten{1'800'000'000'123ms};

LedgerEntry entry() {
  LedgerEntry entry;
  entry.name = "n1-1";
  entry.version = "12";
  entry.node = "n1";
  entry.node_uid = "u";
  entry.pool = "h100";
  entry.domain = "rack-3";
  entry.jobs = {"j"};
  entry.cause = "t";
  entry.evidence = {"r"};
  entry.tests = {"t"};
  entry.latest_evidence = kWritten - 1s;
  entry.phase = Phase::probation;
  entry.holds = true;
  entry.is_released = true;
  entry.created = kWritten - 5s;
  entry.updated = kWritten;
  entry.begun = kWritten - 4s;
  entry.returned = kWritten - 2s;
  entry.brake = "rate";
  entry.message = "m";
  entry.budget = "b";
  entry.spare = "n2";
  entry.steps = {"cordon n1"};
  entry.done = {{.kind = ActionKind::evict_pod, .target = "p", .at = kWritten, .is_counted = true}};
  return entry;
}

kube::RemediationPlan object_of(const LedgerEntry& entry) {
  kube::RemediationPlan plan;
  plan.meta.name = entry.name;
  plan.meta.version = entry.version;
  plan.spec = plan_spec(entry);
  plan.status = plan_status(entry, "");
  return plan;
}

TEST(LedgerObjects, are_read_as_they_are_written) {
  EXPECT_EQ(entry_fact(object_of(entry())), entry());
}

TEST(LedgerObjects, one_that_is_recorded_alone_holds_nothing_and_is_counted_all_the_same) {
  LedgerEntry recorded = entry();
  recorded.phase = Phase::recorded;
  const kube::RemediationPlan plan = object_of(recorded);
  EXPECT_FALSE(plan.status->holds);
  EXPECT_FALSE(plan.status->begun);
  EXPECT_EQ(plan.status->would_hold, recorded.begun);
  EXPECT_EQ(entry_fact(plan), recorded);
}

TEST(LedgerObjects, a_plan_without_a_status_waits_with_its_first_decision) {
  kube::RemediationPlan plan = object_of(entry());
  plan.status.reset();
  const LedgerEntry read = entry_fact(plan);
  EXPECT_EQ(read.phase, Phase::waiting);
  EXPECT_FALSE(read.holds);
  EXPECT_EQ(read.evidence, entry().evidence);
  EXPECT_EQ(read.tests, entry().tests);
  EXPECT_EQ(read.updated, entry().created);
}

TEST(LedgerObjects, words_of_a_newer_version_leave_a_plan_open) {
  kube::RemediationPlan plan = object_of(entry());
  plan.status->phase = "levitating";
  plan.status->done.push_back({"levitate", "x", kWritten, false});
  EXPECT_EQ(entry_fact(plan).phase, Phase::waiting);
  EXPECT_EQ(entry_fact(plan).done.size(), 1U);
}

TEST(LedgerObjects, say_why_a_step_could_not_be_done) {
  EXPECT_EQ(plan_status(entry(), "429").problem, "429");
}

}  // namespace

}  // namespace autopilot::controller
