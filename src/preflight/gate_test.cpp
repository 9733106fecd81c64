// SPDX-License-Identifier: Apache-2.0
#include "preflight/gate.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "host/clock/system_clock.hpp"
#include "tests/support/net/test_server.hpp"
#include "tests/support/preflight/gpu_fixture.hpp"

namespace autopilot::preflight {
namespace {

using namespace std::chrono_literals;
using api::PreflightOutcome;
using api::PreflightState;
using ::testing::ElementsAre;
using testing::gpu;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPcieTest = "gpu.pcie_bandwidth";
constexpr const char* kPings = "network.ping";

Subject peer(const std::string& node) {
  return {SubjectKind::peer, node, {}, {}, {}};
}

PodCaller pod(const std::string& name) {
  PodCaller one;
  one.claim.owner.pod_uid = "uid-" + name;
  one.claim.owner.pod_namespace = "ml";
  one.claim.owner.pod = name;
  one.claim.whole = 2;
  one.job = kube::ReportedJob{"batch/v1", "Job", "train", "j1"};
  one.gang = 0;
  return one;
}

// A node with two GPUs that its pod has, and whoever makes its tests.
class GateTest : public ::testing::Test {
 protected:
  GateTest() {
    CheckResult& present = snapshot_.results.emplace_back();
    present.check = "gpu.present";
    present.completed = WallTime{1h};
    Observations seen;
    for (const char* key : {"a", "b"}) {
      Observation& one = seen.emplace_back();
      one.name = "gpu.state";
      one.subject = gpu(key);
    }
    present.observations = seen;
    snapshot_.boot_id = "boot";
    snapshot_.verdict = Verdict::pass;
    gate_ = std::make_unique<PreflightGate>(
        loop_, GateMachine{.node = "gpu-7",
                           .clock = clock_,
                           .passes = passes_,
                           .snapshot = [this] { return std::make_shared<const NodeSnapshot>(snapshot_); },
                           .offered =
                               [] {
                                 return std::vector<OfferedTest>{
                                     {kPcieTest}, {"gpu.memory_bandwidth"}, {kPings, true, true}};
                               },
                           .look =
                               [this](const auto& done) {
                                 ++looks_;
                                 loop_.post([this, done] { done(look_); });
                                 return true;
                               },
                           .start = [this](const auto& wanted) { return start(wanted); },
                           .find = [](const std::string& id) -> Result<Operation> {
                             Operation operation;
                             operation.id = id;
                             operation.progress = 0.5;
                             return operation;
                           },
                           .allocatable = [] { return 2; },
                           .is_on_probation = [this] { return is_on_probation_; },
                           .why_evicted = [] { return std::string(); },
                           .settings = [this] { return settings_; },
                           .reasons = [](std::string_view) { return nullptr; },
                           .issuer = "agent-1",
                           .report =
                               [this](kube::HealthCheckReport report, auto done) {
                                 reports_.push_back(std::move(report));
                                 if (are_written_) loop_.post([done] { done({}); });
                               },
                           .gang =
                               [this](const api::GangQuestion& question, auto done) {
                                 if (question.is_proven) gang_asked_.push_back(question.pod_uid);
                                 loop_.post([this, done, is_proven = question.is_proven] {
                                   done(is_proven ? gang_ : placed_);
                                 });
                               },
                           .choose =
                               [this](const ChoiceQuestion& question, auto done) {
                                 choices_asked_.push_back(question);
                                 loop_.post([this, done] { done(choice_); });
                               }});
  }
  Result<Operation> start(const diagnostics::OperationStart& wanted) {
    if (!refusals_.empty()) {
      const Error why = refusals_.front();
      refusals_.erase(refusals_.begin());
      return fail(why);
    }
    started_.push_back(wanted);
    Operation operation;
    operation.id = "op-" + std::to_string(started_.size());
    operation.kind = wanted.kind;
    return operation;
  }
  void end(std::size_t number, OperationState state, Health health = Health::healthy,
           bool is_durable = true) {
    Operation operation;
    operation.id = "op-" + std::to_string(number);
    operation.kind = kPcieTest;
    operation.state = state;
    operation.message = "it is like that";
    std::optional<JudgedTest> verdict;
    if (state == OperationState::succeeded) {
      verdict = JudgedTest{kPcieTest, operation.id, clock_.now().wall, clock_.now().wall, {}};
      for (const char* key : {"a", "b"}) {
        TestedGpu& tested = verdict->gpus.emplace_back(TestedGpu{gpu(key), Health::healthy, {}});
        if (health == Health::healthy || key == std::string("a")) continue;
        tested.health = health;
        Finding& finding = tested.findings.emplace_back();
        finding.subject = gpu(key);
        finding.health = health;
        finding.reason = "pcie_bandwidth_low";
        finding.message = "GPU b is slow";
        finding.evidence.emplace_back("value", 2.0);
      }
    }
    gate_->note(operation, verdict, is_durable);
  }
  // Of pings, with what is wrong with this node.
  void end_pings(const diagnostics::OperationStart& begun, const std::string& id,
                 const std::string& wrong = {}) {
    Operation operation;
    operation.id = id;
    operation.kind = kPings;
    operation.state = OperationState::succeeded;
    operation.reservation = begun.reservation;
    JudgedTest verdict{kPings, id, clock_.now().wall, {}, {}};
    TestedGpu& host = verdict.host.emplace();
    if (!wrong.empty()) {
      host.health = Health::degraded;
      Finding& finding = host.findings.emplace_back();
      finding.subject = {SubjectKind::nic_port, "eth0", {}, {}, {}};
      finding.health = Health::degraded;
      finding.reason = "interface_reaches_nobody";
      finding.message = wrong;
    }
    gate_->note(operation, verdict, true);
  }
  // The results come in `results_`, in the order in which they were told.
  std::uint64_t ask(const std::optional<PodCaller>& caller, const api::PreflightRequest& request = {}) {
    const auto asked =
        gate_->ask(caller, request,
                   {[this](const auto& progress) {
                      progress_.push_back(progress.message);
                      told_wait_ = progress.wait;
                    },
                    [this](const auto& result) { results_.push_back(result); }, waits_for_gang_});
    EXPECT_TRUE(asked) << asked.error().what;
    return asked.value_or(0);
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  api::PreflightResult result() {
    EXPECT_TRUE(run_until([this] { return !results_.empty(); }));
    return results_.empty() ? api::PreflightResult{} : results_.front();
  }
  void prove(Duration age) {
    for (const char* uuid : {"GPU-a", "GPU-b"})
      passes_.add({{uuid, kPcieTest, clock_.now().wall - age, "boot", "op-0"}});
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  NodeSnapshot snapshot_;
  CheckResult look_;
  diagnostics::PassBook passes_{{}, [](const auto&) {}};
  config::Preflight settings_;
  bool is_on_probation_ = false;
  bool are_written_ = true;
  std::vector<Error> refusals_;
  std::vector<diagnostics::OperationStart> started_;
  std::vector<kube::HealthCheckReport> reports_;
  std::vector<std::string> progress_;
  std::vector<api::PreflightResult> results_;
  int looks_ = 0;
  bool waits_for_gang_ = true;
  Result<api::GangAnswer> gang_ = api::GangAnswer{true, {}};
  Result<api::GangAnswer> placed_ = api::GangAnswer{true, {}, {"gpu-8", "gpu-9"}};
  std::vector<std::string> gang_asked_;
  std::vector<ChoiceQuestion> choices_asked_;
  Result<TestChoice> choice_ = TestChoice{.tests = {kPcieTest},
                                          .left_out = {{"gpu.memory_bandwidth", "it saves little"}},
                                          .reason = "1 of 2 diagnostics are chosen"};
  std::optional<Duration> told_wait_;
  std::unique_ptr<PreflightGate> gate_;
};

TEST_F(GateTest, proofs_open_without_a_test) {
  prove(2h);
  ask(pod("train-0"));
  const auto told = result();
  EXPECT_EQ(told.outcome, PreflightOutcome::passed);
  EXPECT_TRUE(told.may_start);
  EXPECT_THAT(told.fresh, ElementsAre(kPcieTest));
  EXPECT_EQ(gate_->stats().passed, 1U);
  EXPECT_THAT(told.gpus, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_EQ(told.message, "gpu.pcie_bandwidth passed 2 h ago on the 2 GPUs of this pod");
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_EQ(looks_, 0);
}

TEST_F(GateTest, where_it_must_be_found_out_which_gpus_it_has_that_is_done_first) {
  prove(2h);
  PodCaller one = pod("train-0");
  one.claim.whole = 1;
  GpuUser holder;
  holder.owner = one.claim.owner;
  look_.witnesses = {"kubelet"};
  look_.observations = Observations{to_observation(holder, gpu("b"), "kubelet", {})};
  ask(one);
  EXPECT_THAT(result().gpus, ElementsAre("GPU-b"));
  EXPECT_EQ(looks_, 1);
}

TEST_F(GateTest, on_probation_a_proof_must_be_younger) {
  is_on_probation_ = true;
  prove(31min);
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return !started_.empty(); }));
}

TEST_F(GateTest, what_is_missing_is_tested_on_exactly_these_gpus) {
  ask(pod("train-0"), {{}, 20s});
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  EXPECT_THAT(started_[0].reservation, ElementsAre(gpu("a"), gpu("b")));
  EXPECT_EQ(started_[0].owner, "preflight of ml/train-0");
  EXPECT_LE(*started_[0].deadline, 20s);
  end(1, OperationState::succeeded);
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
  EXPECT_THAT(result().fresh, IsEmpty());
  EXPECT_EQ(result().tests[0].state, PreflightState::passed);
  EXPECT_TRUE(result().is_durable);
  EXPECT_THAT(progress_, ::testing::Contains("gpu.pcie_bandwidth is running"));
}

TEST_F(GateTest, what_history_leaves_out_does_not_run_and_is_stated) {
  settings_.choice = "learned";
  settings_.tests = {kPcieTest, "gpu.memory_bandwidth"};
  PodCaller one = pod("train-0");
  one.gang = 4;
  one.run_time = 2h;
  ask(one);
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  EXPECT_EQ(started_[0].kind, kPcieTest);
  ASSERT_THAT(choices_asked_, SizeIs(1));
  EXPECT_EQ(choices_asked_[0].wanted, settings_.tests);
  EXPECT_THAT(choices_asked_[0].gpus, SizeIs(2));
  EXPECT_EQ(choices_asked_[0].gpus_of_job, 8);
  EXPECT_EQ(choices_asked_[0].run_time, 2h);
  EXPECT_EQ(choices_asked_[0].max_age, settings_.max_age);
  end(1, OperationState::succeeded);
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
  EXPECT_EQ(result().message,
            "gpu.pcie_bandwidth passed just now on the 2 GPUs of this pod; 1 of 2 diagnostics are chosen; "
            "gpu.memory_bandwidth is left out: it saves little");
  EXPECT_EQ(result().choice, "1 of 2 diagnostics are chosen");
  EXPECT_THAT(result().left_out, SizeIs(1));
  EXPECT_EQ(gate_->stats().chosen, 1U);
  EXPECT_EQ(gate_->stats().left_out, 1U);
}

TEST_F(GateTest, the_report_of_a_failure_has_the_chosen_diagnostics) {
  settings_.choice = "learned";
  settings_.tests = {kPcieTest, "gpu.memory_bandwidth"};
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end(1, OperationState::succeeded, Health::degraded);
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_THAT(reports_[0].tests, ElementsAre(kPcieTest));
  EXPECT_THAT(reports_[0].message, HasSubstr("gpu.memory_bandwidth is left out"));
}

TEST_F(GateTest, a_proof_from_before_a_repair_does_not_count) {
  settings_.choice = "learned";
  prove(2h);
  choice_->proofs_since = clock_.now().wall - 1h;
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
}

TEST_F(GateTest, chosen_proofs_open_without_a_test) {
  settings_.choice = "learned";
  settings_.tests = {kPcieTest, "gpu.memory_bandwidth"};
  prove(2h);
  ask(pod("train-0"));
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
  EXPECT_EQ(looks_, 0);
}

TEST_F(GateTest, without_a_choice_all_run_and_the_result_states_why) {
  settings_.choice = "learned";
  choice_ = fail(Errc::timed_out, "history was not read within 2s");
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end(1, OperationState::succeeded);
  EXPECT_THAT(result().message,
              HasSubstr("because the history of the node cannot choose: history was not read within 2s"));
  EXPECT_EQ(gate_->stats().choice_failed, 1U);
}

TEST_F(GateTest, a_pod_that_names_its_diagnostics_gets_them_all) {
  settings_.choice = "learned";
  ask(pod("train-0"), {{kPcieTest}, {}});
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  settings_.choice = "all";
  ask(pod("train-1"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 2; }));
  EXPECT_THAT(choices_asked_, IsEmpty());
}

TEST_F(GateTest, a_choice_of_a_node_with_evict_is_not_awaited) {
  settings_.choice = "learned";
  snapshot_.verdict = Verdict::evict;
  ask(pod("train-0"));
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_THAT(choices_asked_, IsEmpty());
}

TEST_F(GateTest, an_answer_that_a_crash_may_take_back_says_so) {
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end(1, OperationState::succeeded, Health::healthy, false);
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
  EXPECT_FALSE(result().is_durable);
}

TEST_F(GateTest, a_failed_test_is_written_down_before_it_is_told) {
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end(1, OperationState::succeeded, Health::degraded);
  const auto told = result();
  EXPECT_EQ(told.outcome, PreflightOutcome::failed);
  EXPECT_FALSE(told.may_start);
  EXPECT_EQ(told.message, "gpu.pcie_bandwidth failed: GPU b is slow");
  ASSERT_THAT(reports_, SizeIs(1));
  const auto& report = reports_[0];
  EXPECT_EQ(told.report, report.meta.name);
  EXPECT_EQ(report.outcome, kube::ReportedOutcome::failed);
  EXPECT_FALSE(report.is_let_in);
  EXPECT_EQ(report.pod, (kube::ReportedPod{"ml", "train-0", "uid-train-0"}));
  EXPECT_EQ(report.job->name, "train");
  EXPECT_EQ(report.issuer, "agent-1");
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].subject, "gpu/b");
  EXPECT_EQ(report.findings[0].evidence.at("gpuUuid"), "GPU-b");
  EXPECT_EQ(report.findings[0].evidence.at("value"), "2");
}

TEST_F(GateTest, where_failures_are_only_reported_the_pod_starts_at_once_and_the_report_says_so) {
  settings_.failed = "start";
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end(1, OperationState::succeeded, Health::degraded);
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_TRUE(result().may_start);
  EXPECT_THAT(gang_asked_, IsEmpty());
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_EQ(reports_[0].outcome, kube::ReportedOutcome::failed);
  EXPECT_TRUE(reports_[0].is_let_in);
  EXPECT_THAT(reports_[0].message, HasSubstr("GPU b is slow; preflight.failed is start, so the pod starts"));
  EXPECT_THAT(reports_[0].message, HasSubstr("with stop it would be held back"));
}

TEST_F(GateTest, where_failures_are_only_reported_what_could_not_be_looked_at_has_its_own_policy) {
  settings_.failed = "start";
  settings_.could_not_look = "stop";
  ask(pod("train-0"), {{"gpu.other"}, {}});
  EXPECT_FALSE(result().may_start);
  EXPECT_FALSE(reports_.at(0).is_let_in);
}

TEST_F(GateTest, a_node_to_be_left_needs_no_test_and_not_to_know_the_gpus) {
  prove(1h);
  snapshot_.verdict = Verdict::evict;
  ask(pod("train-0"));
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_EQ(looks_, 0);
  EXPECT_THAT(reports_, SizeIs(1));
}

TEST_F(GateTest, what_could_not_be_looked_at_is_let_in_by_policy_and_that_is_written_down) {
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end(1, OperationState::timed_out);
  EXPECT_EQ(result().outcome, PreflightOutcome::could_not_look);
  EXPECT_TRUE(result().may_start);
  EXPECT_THAT(result().message, HasSubstr("it is like that"));
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_EQ(reports_[0].outcome, kube::ReportedOutcome::started);
}

TEST_F(GateTest, or_kept_out) {
  settings_.could_not_look = "stop";
  ask(pod("train-0"), {{"gpu.other"}, {}});
  EXPECT_EQ(result().outcome, PreflightOutcome::could_not_look);
  EXPECT_FALSE(result().may_start);
  EXPECT_EQ(reports_.at(0).outcome, kube::ReportedOutcome::could_not_look);
}

TEST_F(GateTest, a_test_that_does_not_end_is_not_waited_for_beyond_the_deadline) {
  ask(pod("train-0"), {{}, 1s});
  EXPECT_EQ(result().outcome, PreflightOutcome::could_not_look);
  EXPECT_THAT(result().message, HasSubstr("not over within 1s"));
  // What comes later is of no use to it.
  end(1, OperationState::timed_out);
  EXPECT_THAT(results_, SizeIs(1));
}

TEST_F(GateTest, a_node_that_looks_at_nothing_is_not_waited_for_either) {
  snapshot_.results[0].required = true;
  snapshot_.results[0].completed = {};
  ask(pod("train-0"), {{}, 1s});
  EXPECT_EQ(result().outcome, PreflightOutcome::could_not_look);
  EXPECT_THAT(result().message, HasSubstr("not over within 1s: this agent has just begun"));
}

TEST_F(GateTest, a_test_that_finds_no_room_is_begun_later) {
  refusals_ = {{Errc::exhausted, "2 operations run already"}, {Errc::conflict, "gpu/a is reserved"}};
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return !progress_.empty(); }));
  EXPECT_THAT(progress_[0], HasSubstr("2 operations run already"));
  end(9, OperationState::succeeded);  // somebody else's
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end(1, OperationState::succeeded);
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
}

TEST_F(GateTest, a_test_that_cannot_be_begun_at_all_is_not_tried_again) {
  refusals_ = {{Errc::unavailable, "the agent is stopping"}};
  ask(pod("train-0"));
  EXPECT_EQ(result().outcome, PreflightOutcome::could_not_look);
  EXPECT_THAT(started_, IsEmpty());
}

TEST_F(GateTest, equal_questions_are_one_and_each_is_answered) {
  ask(pod("train-0"), {{"gpu.memory_bandwidth", kPcieTest}, {}});
  ask(pod("train-0"), {{kPcieTest, "gpu.memory_bandwidth"}, {}});
  ASSERT_TRUE(run_until([this] { return started_.size() == 2; }));
  end(1, OperationState::failed);
  end(2, OperationState::failed);
  ASSERT_TRUE(run_until([this] { return results_.size() == 2; }));
  EXPECT_EQ(looks_, 1);
  EXPECT_THAT(reports_, SizeIs(1));
}

TEST_F(GateTest, a_pod_waits_for_the_others_of_its_job) {
  prove(2h);
  gang_ = api::GangAnswer{false, "waiting for 1 of 2 pods of Job train: train-1 on node n2 is being tested"};
  const auto listener = ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return !progress_.empty(); }));
  EXPECT_THAT(progress_[0], HasSubstr("train-1 on node n2 is being tested"));
  EXPECT_LE(*told_wait_, 2min);
  EXPECT_GT(*told_wait_, 1min);
  EXPECT_THAT(results_, IsEmpty());
  gang_ = api::GangAnswer{true, {}};
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
  EXPECT_EQ(result().message, "gpu.pcie_bandwidth passed 2 h ago on the 2 GPUs of this pod");
  EXPECT_EQ(gang_asked_.front(), "uid-train-0");
  EXPECT_THAT(reports_, IsEmpty());
  gate_->leave(listener);
}

TEST_F(GateTest, the_network_is_tested_to_the_nodes_of_the_other_pods_once_these_have_one) {
  prove(2h);
  placed_ = api::GangAnswer{false, "waiting for 1 of 3 pods of Job train: 1 is on no node", {"gpu-8"}};
  ask(pod("train-0"), {{kPcieTest, kPings}, {}});
  ASSERT_TRUE(run_until(
      [this] { return !progress_.empty() && progress_.back().find("on no node") != std::string::npos; }));
  EXPECT_THAT(started_, IsEmpty());
  placed_ = api::GangAnswer{true, {}, {"gpu-8", "gpu-9"}};
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  EXPECT_EQ(started_[0].kind, kPings);
  EXPECT_THAT(started_[0].reservation, ElementsAre(peer("gpu-8"), peer("gpu-9")));
  EXPECT_THAT(gang_asked_, IsEmpty());
  end_pings(started_[0], "op-1");
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
  EXPECT_EQ(result().message,
            "gpu.pcie_bandwidth passed 2 h ago on the 2 GPUs of this pod; network.ping passed just now on "
            "the node");
  EXPECT_THAT(gang_asked_, ElementsAre("uid-train-0"));
}

TEST_F(GateTest, a_node_that_reaches_nobody_moves_its_pod_and_is_not_proven) {
  prove(2h);
  ask(pod("train-0"), {{kPcieTest, kPings}, {}});
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  end_pings(started_[0], "op-1", "none of 3 addresses of other nodes answers through eth0");
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_EQ(result().message, "network.ping failed: none of 3 addresses of other nodes answers through eth0");
  EXPECT_THAT(gang_asked_, IsEmpty());
  ASSERT_THAT(reports_, SizeIs(1));
  ASSERT_THAT(reports_[0].findings, SizeIs(1));
  EXPECT_EQ(reports_[0].findings[0].subject, "nic_port/eth0");
  EXPECT_EQ(reports_[0].findings[0].reason, "interface_reaches_nobody");
}

TEST_F(GateTest, the_pods_of_a_job_on_one_node_need_one_test_of_the_network) {
  prove(2h);
  ask(pod("train-0"), {{kPings}, {}});
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  ask(pod("train-1"), {{kPings}, {}});
  const auto is_made = [this] {
    return std::ranges::count(progress_, std::string("network.ping is running")) > 1;
  };
  ASSERT_TRUE(run_until(is_made));
  // It is over, and stands in no journal yet.
  gate_->note();
  end_pings(started_[0], "op-1");
  ASSERT_TRUE(run_until([this] { return results_.size() == 2; }));
  EXPECT_THAT(started_, SizeIs(1));
  EXPECT_EQ(results_[0].outcome, PreflightOutcome::passed);
  EXPECT_EQ(results_[1].outcome, PreflightOutcome::passed);
}

TEST_F(GateTest, where_nobody_tells_the_nodes_of_the_job_those_whose_turn_it_is_are_asked) {
  prove(2h);
  placed_ = fail(Errc::unsupported, "the controller ties no pods together");
  ask(pod("train-0"), {{kPings}, {}});
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  EXPECT_THAT(started_[0].reservation, IsEmpty());
}

TEST_F(GateTest, a_pod_of_no_job_has_those_asked_whose_turn_it_is) {
  prove(2h);
  PodCaller single = pod("alone");
  single.gang.reset();
  ask(single, {{kPings}, {}});
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  EXPECT_THAT(started_[0].reservation, IsEmpty());
}

TEST_F(GateTest, pods_that_find_no_node_hold_the_test_of_the_network_up_so_long) {
  prove(2h);
  settings_.gang_wait = 1s;
  placed_ = api::GangAnswer{false, "waiting for 1 of 3 pods of Job train: 1 is on no node", {"gpu-8"}};
  ask(pod("train-0"), {{kPings}, {}});
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  EXPECT_THAT(started_[0].reservation, ElementsAre(peer("gpu-8")));
}

TEST_F(GateTest, not_longer_than_its_patience_and_that_is_written_down) {
  prove(2h);
  settings_.gang_wait = 1s;
  gang_ = api::GangAnswer{false, "waiting for 1 of 2 pods of Job train: 1 is on no node"};
  ask(pod("train-0"));
  EXPECT_EQ(result().outcome, PreflightOutcome::passed);
  EXPECT_TRUE(result().may_start);
  EXPECT_THAT(result().message,
              HasSubstr("gave up after 1s waiting for 1 of 2 pods of Job train: 1 is on no node"));
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_EQ(reports_[0].outcome, kube::ReportedOutcome::started);
  EXPECT_EQ(reports_[0].message, result().message);
  EXPECT_EQ(result().report, reports_[0].meta.name);
  EXPECT_EQ(gate_->stats().gangs_given_up, 1U);
}

TEST_F(GateTest, a_node_that_is_to_be_left_meanwhile_is_not_started_on) {
  prove(2h);
  gang_ = api::GangAnswer{false, "waiting for train-1"};
  ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return !progress_.empty(); }));
  snapshot_.verdict = Verdict::evict;
  gate_->note();
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_EQ(reports_.at(0).outcome, kube::ReportedOutcome::failed);
}

TEST_F(GateTest, who_failed_waits_for_nobody) {
  snapshot_.verdict = Verdict::evict;
  ask(pod("train-0"));
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_THAT(gang_asked_, IsEmpty());
}

TEST_F(GateTest, what_is_no_gang_or_shall_not_be_one_waits_for_nobody) {
  prove(2h);
  gang_ = api::GangAnswer{false, "waiting for train-1"};
  PodCaller replica = pod("serve-0");
  replica.gang.reset();
  ask(replica);
  ASSERT_TRUE(run_until([this] { return results_.size() == 1; }));
  waits_for_gang_ = false;
  ask(pod("train-1"));
  ASSERT_TRUE(run_until([this] { return results_.size() == 2; }));
  waits_for_gang_ = true;
  settings_.gang_wait = 0s;
  ask(pod("train-2"));
  ASSERT_TRUE(run_until([this] { return results_.size() == 3; }));
  EXPECT_THAT(gang_asked_, IsEmpty());
}

TEST_F(GateTest, a_pod_that_goes_away_asks_for_the_others_no_more) {
  prove(2h);
  gang_ = api::GangAnswer{false, "waiting for train-1"};
  const auto listener = ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return !progress_.empty(); }));
  gate_->leave(listener);
  EXPECT_EQ(gate_->stats().waiting, 0U);
}

TEST_F(GateTest, who_goes_away_ends_nobodys_test) {
  const auto listener = ask(pod("train-0"));
  ASSERT_TRUE(run_until([this] { return started_.size() == 1; }));
  gate_->leave(listener);
  end(1, OperationState::succeeded, Health::degraded);
  ASSERT_TRUE(run_until([this] { return !reports_.empty(); }));
  EXPECT_THAT(results_, IsEmpty());
}

TEST_F(GateTest, an_answer_does_not_wait_for_ever_to_be_written_down) {
  are_written_ = false;
  snapshot_.verdict = Verdict::evict;
  ask(pod("train-0"));
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_EQ(result().report, "");
  EXPECT_THAT(result().message, HasSubstr("the API server has not taken the report yet"));
}

TEST_F(GateTest, of_the_whole_node_no_report_is_written) {
  snapshot_.verdict = Verdict::evict;
  ask(std::nullopt);
  EXPECT_EQ(result().outcome, PreflightOutcome::failed);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(GateTest, has_room_for_so_many_pods) {
  for (std::size_t i = 0; i < PreflightGate::kMostQuestions; ++i)
    ask(pod(std::to_string(i)));
  const auto more = gate_->ask(pod("more"), {}, {});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::exhausted);
  for (std::size_t i = 1; i < PreflightGate::kMostListeners; ++i)
    ask(pod("0"));
  EXPECT_EQ(gate_->ask(pod("0"), {}, {}).error().code, Errc::exhausted);
  EXPECT_EQ(gate_->stats().waiting, PreflightGate::kMostQuestions);
  EXPECT_EQ(gate_->stats().refused, 2U);
  gate_->stop();
  EXPECT_EQ(gate_->stats().waiting, 0U);
  EXPECT_THAT(results_, IsEmpty());
}

}  // namespace
}  // namespace autopilot::preflight
