// SPDX-License-Identifier: Apache-2.0
#include "cli/output/test_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output/layout.hpp"

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FinishedTest test_of(bool simulated) {
  FinishedTest test{.operation = {}, .result = CheckResult{}};
  test.operation.kind = "gpu.sdc";
  test.operation.state = OperationState::succeeded;
  test.operation.simulated = simulated;
  return test;
}

TEST(TestTable, of_a_machine_that_does_not_exist_says_so) {
  EXPECT_EQ(simulated_line(are_simulated({test_of(true)}), {}), "SIMULATED\n");
  EXPECT_EQ(simulated_line(are_simulated({test_of(false)}), {}), "");
  EXPECT_FALSE(are_simulated({}));
}

TEST(TestTable, what_is_unknown_is_told_with_its_name_and_not_without_end) {
  FinishedTest test = test_of(false);
  for (int i = 0; i < 12; ++i) {
    Finding& finding = test.result->findings.emplace_back();
    finding.subject = {SubjectKind::gpu, "0000:0" + std::to_string(i) + ":00.0", {}, {}, {}};
    finding.health = Health::unknown;
    finding.message = "does not answer";
  }
  Finding& slow = test.result->findings.emplace_back();
  slow.health = Health::degraded;
  slow.message = "it is slow";
  const std::string shown = render_tests({test}, {});
  EXPECT_THAT(shown, HasSubstr("GPU 0000:07:00.0: does not answer"));
  EXPECT_THAT(shown, Not(HasSubstr("0000:08:00.0")));
  EXPECT_THAT(shown, HasSubstr("it is slow"));
  EXPECT_THAT(shown, HasSubstr("and 4 more that are unknown"));
}

// In the list, in the operation, in what the check says.
TEST(TestTable, each_part_of_the_json_says_whether_the_machine_exists) {
  const std::string simulated = tests_json({test_of(true)});
  EXPECT_THAT(simulated, testing::StartsWith(R"({"simulated":true,"items":[)"));
  EXPECT_THAT(simulated, Not(HasSubstr(R"("simulated":false)")));
  const std::string real = tests_json({test_of(false)});
  EXPECT_THAT(real, testing::StartsWith(R"({"simulated":false,"items":[)"));
  EXPECT_THAT(real, Not(HasSubstr(R"("simulated":true)")));
}

}  // namespace
}  // namespace autopilot::cli
