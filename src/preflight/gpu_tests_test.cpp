// SPDX-License-Identifier: Apache-2.0
#include "preflight/gpu_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "core/pod_tests.hpp"
#include "diagnostics/operations/operation_kinds.hpp"
#include "incidents/verdict.hpp"
#include "nettest/run/ping_observations.hpp"

namespace autopilot::preflight {
namespace {

using ::testing::HasSubstr;

TEST(PodTests, are_those_that_a_node_can_make_and_the_deep_test) {
  std::vector<std::string_view> made{incidents::kDeepTest, nettest::kPingCheck};
  std::vector<diagnostics::OperationKind> kinds = diagnostics::builtin_operations();
  std::ranges::move(diagnostics::gpu_probe_operations({}, {}), std::back_inserter(kinds));
  kinds.push_back(diagnostics::nccl_operation({}, {}));
  kinds.push_back(diagnostics::dcgm_operation({}, {}, {}));
  for (const diagnostics::OperationKind& kind : kinds)
    made.emplace_back(kind.id);
  EXPECT_THAT(made, ::testing::UnorderedElementsAreArray(kPodTests));
}

class GpuTestsTest : public ::testing::Test {
 protected:
  static Operation ended(OperationState state, std::string message, Observations observations = {}) {
    Operation operation;
    operation.id = "op-1";
    operation.kind = "gpu.dcgm";
    operation.state = state;
    operation.message = std::move(message);
    operation.observations = std::move(observations);
    return operation;
  }
  static Observation outcome(const char* word) {
    Observation observation;
    observation.name = "dcgm.outcome";
    observation.value = std::string(word);
    return observation;
  }
  [[nodiscard]] Result<Observations> known() const { return board_.last("gpu.dcgm"); }

  static Incident incident_of(const std::string& check) {
    Incident incident;
    incident.members.push_back({.check = check, .finding = {}, .cleared = {}});
    return incident;
  }

  std::shared_ptr<NodeSnapshot> snapshot_ = std::make_shared<NodeSnapshot>();
  host::TestBoard board_;
  diagnostics::PassBook passes_{{}, [](const std::vector<PassRecord>&) {}};
  GpuTests tests_{{checks::builtin_checks(), catalog::builtin(), board_, passes_,
                   [] { return Expectation{}; }, [this] { return snapshot_; }}};
};

TEST_F(GpuTestsTest, before_any_result_the_reason_why_there_is_none_is_known) {
  EXPECT_EQ(known().error().code, Errc::unsupported);
  tests_.note(ended(OperationState::failed, "dcgmi is not there"));
  EXPECT_EQ(known().error().code, Errc::unavailable);
  EXPECT_THAT(known().error().what, HasSubstr("dcgmi is not there"));
  tests_.note(ended(OperationState::timed_out, "no end within 20m"));
  EXPECT_EQ(known().error().code, Errc::timed_out);
  tests_.note(ended(OperationState::cancelled, "cancelled by a"));
  EXPECT_EQ(known().error().code, Errc::timed_out);
}

TEST_F(GpuTestsTest, what_was_found_stands_until_something_else_is_found) {
  tests_.note(ended(OperationState::succeeded, "", {outcome("tested")}));
  tests_.note(ended(OperationState::failed, "dcgmi is not there"));
  ASSERT_TRUE(known());
  EXPECT_EQ(known()->front().value, Value(std::string("tested")));
}

// A restart proves nothing: without a reason the check would have nothing to say, and the incident would end.
TEST_F(GpuTestsTest, what_an_earlier_agent_found_wrong_stands_until_a_test_has_been_made) {
  snapshot_->incidents = {incident_of("gpu.dcgm"), incident_of("gpu.sdc"), incident_of("gpu.xid"),
                          incident_of("network.ping"), incident_of("storage.pvc")};
  snapshot_->incidents[1].members.front().cleared = WallTime{};
  tests_.remember({});
  EXPECT_EQ(known().error().code, Errc::unavailable);
  EXPECT_THAT(known().error().what, HasSubstr("the findings of the last test remain"));
  for (const char* const other : {"gpu.sdc", "gpu.xid", "network.ping", "storage.pvc", "gpu.compute"})
    EXPECT_EQ(board_.last(other).error().code, Errc::unsupported) << other;
  tests_.note(ended(OperationState::failed, "dcgmi is not there"));
  EXPECT_THAT(known().error().what, HasSubstr("dcgmi is not there"));
}

// Only the journal knows what was usual before this agent began.
TEST_F(GpuTestsTest, a_test_is_judged_by_what_an_earlier_agent_measured) {
  const auto measured = [](double rate) {
    Observation model;
    model.name = "gpu.model";
    model.subject = {SubjectKind::gpu, "0000:3b:00.0", 0, "GPU-1", ""};
    model.value = std::string("a model that nobody knows");
    Observation copy = model;
    copy.name = "memory_bandwidth.copy";
    copy.unit = "gigabytes_per_second";
    copy.value = rate;
    Operation operation = ended(OperationState::succeeded, "", {model, copy});
    operation.kind = "gpu.memory_bandwidth";
    return operation;
  };
  Operation failed = measured(5000);
  failed.state = OperationState::failed;
  const std::vector<Operation> before{measured(1000), measured(1010), failed, failed, failed, measured(990)};
  tests_.remember(before);
  const auto judged = tests_.note(measured(600));
  ASSERT_TRUE(judged && judged->gpus.size() == 1);
  ASSERT_EQ(judged->gpus[0].findings.size(), 1U);
  EXPECT_EQ(judged->gpus[0].findings[0].reason, "memory_bandwidth_declined");
  EXPECT_EQ(judged->gpus[0].health, Health::degraded);
}

// This process asked, and left what it saw on the board.
class OwnPings : public GpuTestsTest {
 protected:
  static Observation count(const Subject& subject, const char* name, double value) {
    Observation one;
    one.name = name;
    one.subject = subject;
    one.value = value;
    one.source = "probe";
    return one;
  }
  // Of an interface: how many nodes were asked there at an address each, and how many were silent.
  void asked(const char* interface, double nodes, double silent, const std::string& family = "ipv4") {
    const Subject port{SubjectKind::nic_port, interface, {}, {}, {}};
    seen_.push_back(count(port, ("ping.asked." + family).c_str(), nodes));
    seen_.push_back(count(port, ("ping.asked_nodes." + family).c_str(), nodes));
    seen_.push_back(count(port, ("ping.unanswered." + family).c_str(), silent));
    if (silent < nodes) seen_.push_back(count(port, ("ping.latency_median." + family).c_str(), 0.0002));
    if (silent == 0) return;
    const std::string address = family == "ipv6" ? "=fd00::9" : "=10.0.0.9";
    Observation one = count({SubjectKind::peer, "gpu-9", {}, {}, {}}, "ping.silent", 1);
    one.attributes = {{"addresses", interface + address},
                      {"silent", std::string(interface)},
                      {"through", std::string(interface)}};
    seen_.push_back(one);
  }
  TestedGpu judge() {
    Observation outcome = count(host_subject(), "ping.outcome", 0);
    outcome.value = std::string("ended");
    seen_.insert(seen_.begin(), outcome);
    board_.put("network.ping", seen_);
    Operation operation = ended(OperationState::succeeded, "asked");
    operation.kind = "network.ping";
    const auto test = tests_.note(operation);
    EXPECT_TRUE(test && test->host);
    return test && test->host ? *test->host : TestedGpu{};
  }

  Observations seen_;
};

TEST_F(OwnPings, a_node_whose_questions_are_answered_passes) {
  asked("eth0", 7, 0);
  EXPECT_EQ(judge().health, Health::healthy);
}

TEST_F(OwnPings, one_that_reaches_nobody_is_wrong_itself) {
  asked("eth0", 7, 7);
  const TestedGpu host = judge();
  EXPECT_EQ(host.health, Health::degraded);
  ASSERT_EQ(host.findings.size(), 1U);
  EXPECT_EQ(host.findings[0].reason, "interface_reaches_nobody");
}

// The fabric may pass no IPv6: every node sees the same.
TEST_F(OwnPings, a_family_that_nobody_answers_is_not_its_fault_where_the_other_one_is_answered) {
  asked("eth0", 7, 0);
  asked("eth0", 7, 7, "ipv6");
  EXPECT_EQ(judge().health, Health::healthy);
}

TEST_F(OwnPings, an_interface_that_nobody_answers_in_either_family_is_wrong_itself) {
  asked("eth0", 7, 7);
  asked("eth0", 1, 1, "ipv6");
  const TestedGpu host = judge();
  EXPECT_EQ(host.health, Health::degraded);
  ASSERT_EQ(host.findings.size(), 1U);
  EXPECT_EQ(host.findings[0].reason, "interface_reaches_nobody");
}

TEST_F(OwnPings, another_node_that_is_silent_is_not_its_fault) {
  asked("eth0", 7, 1);
  EXPECT_EQ(judge().health, Health::healthy);
}

// The other interface reaches it, and of a single node nobody can tell whose fault it is.
TEST_F(OwnPings, an_interface_by_which_nobody_answers_is_not_proven) {
  asked("eth0", 1, 0);
  asked("ib0", 1, 1);
  const TestedGpu host = judge();
  EXPECT_EQ(host.health, Health::unknown);
  ASSERT_EQ(host.findings.size(), 1U);
  EXPECT_THAT(host.findings[0].message, HasSubstr("no node answers over ib0, and too few were asked"));
}

TEST_F(OwnPings, an_interface_by_which_nobody_could_be_asked_is_not_proven) {
  asked("eth0", 7, 0);
  asked("ib0", 0, 0);
  const TestedGpu host = judge();
  EXPECT_EQ(host.health, Health::unknown);
  ASSERT_EQ(host.findings.size(), 1U);
  EXPECT_EQ(host.findings[0].message, "no other node could be asked over ib0");
}

TEST_F(OwnPings, where_nobody_could_be_asked_nothing_is_proven) {
  const TestedGpu host = judge();
  EXPECT_EQ(host.health, Health::unknown);
  ASSERT_FALSE(host.findings.empty());
}

// All switches may be like that.
TEST_F(OwnPings, what_all_ways_may_have_in_common_moves_no_pod) {
  asked("eth0", 7, 0);
  const Subject port{SubjectKind::nic_port, "eth0", {}, {}, {}};
  for (int i = 1; i < 7; ++i) {
    const Subject link{SubjectKind::link, "gpu-7/eth0|gpu-" + std::to_string(10 + i) + "/eth0", {}, {}, {}};
    Observation loss = count(link, "ping.loss", 0);
    loss.attributes = {{"interface", std::string("eth0")}, {"node", "gpu-" + std::to_string(10 + i)}};
    seen_.push_back(loss);
    seen_.push_back(count(link, "ping.interface_mtu", 9000));
    seen_.push_back(count(link, "ping.path_mtu", 1500));
  }
  EXPECT_EQ(judge().health, Health::healthy);
}

TEST_F(OwnPings, one_that_could_not_ask_has_no_verdict) {
  board_.put("network.ping", fail(Errc::denied, "no permission to send"));
  Operation operation = ended(OperationState::succeeded, "asked");
  operation.kind = "network.ping";
  EXPECT_EQ(tests_.note(operation), std::nullopt);
}

TEST_F(GpuTestsTest, a_skipped_test_says_why_and_is_no_verdict) {
  EXPECT_EQ(tests_.note(ended(OperationState::skipped, "GPU in use", {outcome("in_use")})), std::nullopt);
  ASSERT_TRUE(known());
  EXPECT_EQ(known()->front().value, Value(std::string("in_use")));
}

TEST_F(GpuTestsTest, a_reason_of_somebody_else_stays) {
  board_.put("gpu.dcgm", fail(Errc::unavailable, "of somebody else"));
  tests_.note(ended(OperationState::failed, "dcgmi is not there"));
  EXPECT_EQ(known().error().what, "of somebody else");
}

}  // namespace
}  // namespace autopilot::preflight
