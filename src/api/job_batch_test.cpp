// SPDX-License-Identifier: Apache-2.0
#include "api/job_batch.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "api/job_records.hpp"

namespace autopilot::api::job_batch_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

JobBatch sample() {
  return {.node = "gpu-001",
          .instance = "0f3a",
          .sequence = 7,
          .sent = WallTime(1767225600s),
          .is_whole = true,
          .dropped = 3};
}

std::string problem_of(std::string_view body) {
  const auto parsed = parse_job_batch(body);
  return parsed ? "" : parsed.error().what;
}

TEST(JobBatch, a_body_is_read_as_it_was_written) {
  const std::string body = to_line(sample()) + "{\"type\":\"heartbeat\"}\n";
  const auto read = parse_job_batch(body);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->batch.node, "gpu-001");
  EXPECT_EQ(read->batch.instance, "0f3a");
  EXPECT_EQ(read->batch.sequence, 7U);
  EXPECT_EQ(read->batch.sent, sample().sent);
  EXPECT_TRUE(read->batch.is_whole);
  EXPECT_EQ(read->batch.dropped, 3U);
  EXPECT_EQ(read->records, "{\"type\":\"heartbeat\"}\n");
}

TEST(JobBatch, a_batch_without_records_is_valid) {
  const std::string body = to_line(sample());
  ASSERT_TRUE(parse_job_batch(body));
  EXPECT_EQ(parse_job_batch(body)->records, "");
}

TEST(JobBatch, garbage_is_refused_with_the_member_that_is_wrong) {
  EXPECT_THAT(problem_of(""), HasSubstr("the first line"));
  EXPECT_THAT(problem_of(std::string(10'000'000, 'x')), HasSubstr("longer than 1024 bytes"));
  EXPECT_THAT(problem_of(std::string("\0\xff\xfe\n", 4)), HasSubstr(""));
  EXPECT_THAT(problem_of("{}\n"), HasSubstr("node"));
  JobBatch batch = sample();
  batch.sequence = 0;
  EXPECT_THAT(problem_of(to_line(batch)), HasSubstr("sequence"));
  batch = sample();
  batch.node = "two words";
  EXPECT_THAT(problem_of(to_line(batch)), HasSubstr("node"));
  batch = sample();
  batch.sent = WallTime(std::chrono::hours(24 * 365 * 200));
  EXPECT_THAT(problem_of(to_line(batch)), HasSubstr("sent"));
  batch = sample();
  batch.instance = std::string(65, 'a');
  EXPECT_THAT(problem_of(to_line(batch)), HasSubstr("instance"));
  EXPECT_THAT(problem_of(R"({"node":"a","instance":"b","sequence":1,"sent":"2026-01-01T00:00:00Z","x":1})"
                         "\n"),
              HasSubstr("x"));
}

TEST(JobBatch, an_answer_is_read_as_it_was_written) {
  const auto answer = parse_job_batch_answer(to_json(JobBatchAnswer{12, true}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->taken, 12U);
  EXPECT_TRUE(answer->wants_whole);
  EXPECT_FALSE(parse_job_batch_answer("{\"taken\":1}")->wants_whole);
  EXPECT_FALSE(parse_job_batch_answer("<html>"));
  const std::vector<SuspectedJob> suspected{{"ml/a", "00c0ffee00c0ffee"}, {"ml/b", ""}};
  EXPECT_EQ(parse_job_batch_answer(to_json(JobBatchAnswer{.taken = 1, .suspected = suspected}))->suspected,
            suspected);
  const std::vector<SuspectedJob> many(JobBatchAnswer::kMostSuspected + 1, SuspectedJob{"ml/a", ""});
  EXPECT_EQ(parse_job_batch_answer(to_json(JobBatchAnswer{.taken = 1, .suspected = many}))->suspected.size(),
            JobBatchAnswer::kMostSuspected);
}

TEST(JobBatch, a_line_of_each_file_is_a_record_and_a_label_is_not) {
  const auto step = parse_job_record(R"({"type":"step","t":1,"job":"a","step":5})");
  ASSERT_TRUE(step) << step.error().what;
  EXPECT_EQ(std::get<jobs::StepRecord>(*step).step, 5);
  EXPECT_TRUE(parse_job_record(R"({"type":"xid","t":1,"node":"n","xid":79})"));
  EXPECT_TRUE(parse_job_record(R"({"type":"window","t":10,"window":10,"node":"n"})"));
  EXPECT_FALSE(parse_job_record(R"({"type":"healthy","t":1,"end":2})"));
  EXPECT_FALSE(parse_job_record(R"({"type":"format","t":1,"format":"autopilot-job-telemetry","version":1})"));
  EXPECT_FALSE(parse_job_record(std::string(10'000'000, ' ')));
}

}  // namespace
}  // namespace autopilot::api::job_batch_test
