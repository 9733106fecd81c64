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
