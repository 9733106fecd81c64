// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/job_spans.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr WallTime kSeen{std::chrono::hours(500000)};

collect::SeenJobs seen_on_gpus(WallTime time, std::vector<int> gpus) {
  collect::SeenJob job;
  job.record = {.time = time, .job = "ml/a", .name = "a"};
  job.processes.push_back({.pid = 7, .gpus = std::move(gpus)});
  return {.time = time, .jobs = {job}, .not_seen = {}};
}

TEST(JobSpansOfANode, have_all_gpus_that_a_job_ever_held) {
  JobSpans spans;
  EXPECT_THAT(spans.note(seen_on_gpus(kSeen, {3})), SizeIs(1));
  EXPECT_THAT(spans.note(seen_on_gpus(kSeen + std::chrono::seconds(10), {1})), IsEmpty());
  EXPECT_THAT(spans.note(seen_on_gpus(kSeen + std::chrono::seconds(20), {})), IsEmpty());
  const JobSpan span = spans.end({.time = kSeen + std::chrono::seconds(30), .job = "ml/a"});
  EXPECT_EQ(span.name, "a");
  EXPECT_EQ(span.begin, kSeen);
  EXPECT_EQ(span.end, kSeen + std::chrono::seconds(30));
  EXPECT_THAT(span.gpus, ElementsAre(1, 3));
  EXPECT_THAT(spans.note(seen_on_gpus(kSeen + std::chrono::seconds(40), {1})), SizeIs(1))
      << "it starts again";
}

TEST(JobSpansOfANode, an_unknown_job_has_its_key_and_its_end) {
  JobSpans spans;
  const JobSpan span = spans.end({.time = kSeen, .job = "ml/b"});
  EXPECT_EQ(span.job, "ml/b");
  EXPECT_EQ(span.end, kSeen);
  EXPECT_THAT(span.gpus, IsEmpty());
}

}  // namespace
}  // namespace autopilot::agent
