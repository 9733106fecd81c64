// SPDX-License-Identifier: Apache-2.0
#include "agent/preflight/gpu_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"

namespace autopilot::agent {
namespace {

using ::testing::HasSubstr;

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

  host::TestBoard board_;
  PassBook passes_{{}, [](const std::vector<PassRecord>&) {}};
  GpuTests tests_{{checks::builtin_checks(), catalog::builtin(), board_, passes_,
                   [] { return Expectation{}; }, [] { return std::make_shared<const NodeSnapshot>(); }}};
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
  // Of eth0 and, if it is told, of another node that is silent.
  std::optional<JudgedTest> ask(double nodes, double unanswered) {
    const Subject port{SubjectKind::nic_port, "eth0", {}, {}, {}};
    Observation outcome = count(host_subject(), "ping.outcome", 0);
    outcome.value = std::string("ended");
    Observations seen{outcome, count(port, "ping.asked.ipv4", nodes),
                      count(port, "ping.asked_nodes.ipv4", nodes),
                      count(port, "ping.unanswered.ipv4", unanswered)};
    if (unanswered > 0) {
      Observation silent = count({SubjectKind::peer, "gpu-9", {}, {}, {}}, "ping.silent", 1);
      silent.attributes = {{"addresses", std::string("eth0=10.0.0.9")},
                           {"silent", std::string("eth0")},
                           {"through", std::string("eth0")}};
      seen.push_back(silent);
    }
    board_.put("network.ping", seen);
    Operation operation = ended(OperationState::succeeded, "asked");
    operation.kind = "network.ping";
    return tests_.note(operation);
  }
};

TEST_F(OwnPings, a_node_whose_questions_are_answered_passes) {
  const auto test = ask(7, 0);
  ASSERT_TRUE(test && test->host);
  EXPECT_EQ(test->host->health, Health::healthy);
}

TEST_F(OwnPings, one_that_reaches_nobody_is_wrong_itself) {
  const auto test = ask(7, 7);
  ASSERT_TRUE(test && test->host);
  EXPECT_EQ(test->host->health, Health::degraded);
  ASSERT_EQ(test->host->findings.size(), 1U);
  EXPECT_EQ(test->host->findings[0].reason, "interface_reaches_nobody");
}

TEST_F(OwnPings, another_node_that_is_silent_is_not_its_fault) {
  const auto test = ask(7, 1);
  ASSERT_TRUE(test && test->host);
  EXPECT_EQ(test->host->health, Health::healthy);
}

TEST_F(OwnPings, of_a_single_silent_node_nobody_can_tell_whose_fault_it_is) {
  const auto test = ask(1, 1);
  ASSERT_TRUE(test && test->host);
  EXPECT_EQ(test->host->health, Health::unknown);
  ASSERT_EQ(test->host->findings.size(), 1U);
  EXPECT_THAT(test->host->findings[0].message, HasSubstr("too few"));
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
}  // namespace autopilot::agent
