// SPDX-License-Identifier: Apache-2.0
#include "cli/output/validation_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/api/validation_samples.hpp"

namespace autopilot::cli {
namespace {

using api::testing::sample_validations;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ValidationTable, names_result_depth_gpus_and_what_is_worse) {
  const api::ValidationList list = sample_validations();
  const std::string table =
      render_validations(list, list.validations[0].record.end + std::chrono::minutes(3), {});
  for (const char* part :
       {"SIMULATED", "failed", "quick", "0,3", "ml/a: 1 of 16 checks not as good", "Not ended yet: 3"})
    EXPECT_THAT(table, HasSubstr(part));
  EXPECT_EQ(health_of(list), Health::failed);
}

TEST(ValidationTable, an_empty_list_is_a_sentence) {
  const std::string table = render_validations({}, {}, {});
  EXPECT_THAT(table, HasSubstr("No validation has ended"));
  EXPECT_THAT(table, Not(HasSubstr("RESULT")));
  EXPECT_EQ(health_of(api::ValidationList{}), Health::healthy);
}

TEST(ValidationTable, a_validation_without_diagnostics_has_the_depth_passive_and_its_cause) {
  api::ValidationList list = sample_validations();
  learning::ValidationResult& result = list.validations[0];
  result.record.depth = learning::Depth::passive;
  result.record.verdict = learning::Verdict::passed;
  result.record.cause = "passive checks only, because GPU 0 is in use";
  result.summary = "31 checks ran; " + result.record.cause + "; the diagnostics are tried again in 5m";
  const std::string table = render_validations(list, result.record.end, {});
  EXPECT_THAT(table, HasSubstr("passed  passive  0,3"));
  EXPECT_THAT(table, AllOf(HasSubstr("GPU 0 is in use; "), HasSubstr("the diagnostics are tried again")));
  EXPECT_EQ(health_of(list), Health::healthy);
  EXPECT_THAT(sentences_of(result), ElementsAre("passed: " + result.summary)) << "the cause is not repeated";
}

TEST(ValidationTable, a_page_about_the_job_has_result_and_reason) {
  EXPECT_THAT(sentences_of(sample_validations().validations[0]),
              ElementsAre("failed: 1 of 16 checks not as good", "the job ended"));
}

}  // namespace
}  // namespace autopilot::cli
