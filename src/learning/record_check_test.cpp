// SPDX-License-Identifier: Apache-2.0
#include "learning/record_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/learning/record_samples.hpp"

namespace autopilot::learning {
namespace {

std::string record_problem(const HistoryRecord& record) {
  const Status valid = check(record);
  return valid ? "" : valid.error().what;
}

TEST(RecordCheck, accepts_one_record_of_each_type) {
  for (const HistoryRecord& record : testing::one_of_each())
    EXPECT_EQ(record_problem(record), "") << type_of(record);
}

TEST(RecordCheck, names_the_member_that_is_missing) {
  EXPECT_EQ(record_problem(testing::fault("")), "id: missing");
  Fault fault = testing::fault();
  fault.place.node.clear();
  EXPECT_EQ(record_problem(fault), "node: missing");
  fault = testing::fault();
  fault.begin = {};
  EXPECT_EQ(record_problem(fault), "begin: missing");
}

TEST(RecordCheck, refuses_an_end_before_the_begin) {
  Repair repair = testing::repair();
  repair.end = repair.begin - Duration{1};
  EXPECT_EQ(record_problem(repair), "end: before the begin");
}

TEST(RecordCheck, refuses_a_job_on_a_card) {
  NodeJob job = testing::node_job();
  job.place.gpu = "S1";
  EXPECT_THAT(record_problem(job), ::testing::StartsWith("gpu: "));
}

TEST(RecordCheck, refuses_what_is_too_long_too_many_or_no_number) {
  Label label = testing::label();
  label.note = std::string(4097, 'x');
  EXPECT_EQ(record_problem(label), "note: longer than 4096 bytes");
  label.note = "\xff";
  EXPECT_EQ(record_problem(label), "note: not valid UTF-8");
  label.note = std::string("a\0b", 3);
  EXPECT_EQ(record_problem(label), "note: contains U+0000");
  Validation validation = testing::validation();
  validation.checks.at(1).check.clear();
  EXPECT_EQ(record_problem(validation), "checks[1].check: missing");
  validation.checks.assign(257, {"gpu.xid", "", Health::healthy, "", ""});
  EXPECT_EQ(record_problem(validation), "checks: more than 256 items");
  Measurement measurement = testing::measurement();
  measurement.values = {1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(record_problem(measurement), "values: out of range");
  Fault fault = testing::fault();
  fault.confidence = 1.5;
  EXPECT_EQ(record_problem(fault), "confidence: out of range");
}

TEST(RecordCheck, a_fitted_record_is_accepted) {
  Validation validation = testing::validation();
  validation.cause = std::string(5000, 'x') + "\xff";
  validation.checks.assign(300, {"gpu.xid", "", Health::healthy, "", std::string(4095, 'y') + "\xc3\xa9"});
  HistoryRecord record = validation;
  fit(record);
  EXPECT_EQ(record_problem(record), "");
  EXPECT_EQ(std::get<Validation>(record).checks.size(), 256U);
  EXPECT_EQ(std::get<Validation>(record).checks.front().text.size(), 4095U) << "cut between two characters";
}

TEST(RecordCheck, states_what_records_have_in_common) {
  const HistoryRecord fault = testing::fault();
  EXPECT_EQ(type_of(fault), "fault");
  EXPECT_EQ(job_of(fault), "j1");
  EXPECT_EQ(outcome_of(fault), "hardware");
  EXPECT_EQ(end_of(fault), testing::kBegin + std::chrono::hours{2});
  const HistoryRecord versions = testing::versions();
  EXPECT_EQ(outcome_of(versions), "");
  EXPECT_EQ(end_of(versions), begin_of(versions));
}

}  // namespace
}  // namespace autopilot::learning
