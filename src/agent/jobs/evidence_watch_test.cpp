// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/evidence_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace autopilot::agent::evidence_watch_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr WallTime kBegin{std::chrono::hours(500000)};

class EvidenceWatchTest : public ::testing::Test {
 protected:
  EvidenceWatchTest() {
    collect::SeenJob job;
    job.record.job = "a";
    job.record.has_local_ranks = true;
    job.processes.push_back({.pid = 100, .rank = 3});
    seen_.jobs.push_back(job);
  }
  void look(const std::vector<api::SuspectedJob>& suspected, Duration passed) {
    watch_.look(suspected, seen_, kBegin + passed, [this](collect::EvidenceRequest request) {
      if (has_room_) started_.push_back(request.finding);
      EXPECT_EQ(request.processes.size(), 1U);
      EXPECT_TRUE(request.has_local_ranks);
      return has_room_;
    });
  }

  EvidenceWatch watch_;
  collect::SeenJobs seen_;
  bool has_room_ = true;
  std::vector<std::string> started_;
};

TEST_F(EvidenceWatchTest, a_finding_is_captured_once) {
  look({{"a", "f1"}}, 0s);
  look({{"a", "f1"}, {"a", "f2"}}, 24h);
  EXPECT_THAT(started_, ElementsAre("f1", "f2"));
}

TEST_F(EvidenceWatchTest, a_job_that_stays_stalled_is_captured_every_half_hour) {
  for (Duration passed = 0s; passed < 61min; passed += 1min)
    look({{"a", ""}}, passed);
  EXPECT_THAT(started_, SizeIs(3));
  EXPECT_THAT(started_, ::testing::Each(StartsWith("stalled-")));
  EXPECT_EQ(std::set<std::string>(started_.begin(), started_.end()).size(), 3U);
}

TEST_F(EvidenceWatchTest, a_job_without_processes_here_is_not_captured) {
  look({{"b", "f1"}}, 0s);
  seen_.jobs[0].processes.clear();
  look({{"a", "f1"}}, 1s);
  EXPECT_THAT(started_, IsEmpty());
}

TEST_F(EvidenceWatchTest, what_had_no_room_is_captured_later) {
  has_room_ = false;
  look({{"a", "f1"}}, 0s);
  EXPECT_THAT(started_, IsEmpty());
  has_room_ = true;
  look({{"a", "f1"}}, 1s);
  EXPECT_THAT(started_, ElementsAre("f1"));
}

TEST_F(EvidenceWatchTest, the_oldest_of_many_captures_is_forgotten) {
  for (std::size_t i = 0; i <= EvidenceWatch::kMostRemembered; ++i)
    look({{"a", "f" + std::to_string(i)}}, i * 1s);
  started_.clear();
  look({{"a", "f1"}}, 1h);
  EXPECT_THAT(started_, IsEmpty());
  look({{"a", "f0"}}, 1h);
  EXPECT_THAT(started_, ElementsAre("f0"));
}

}  // namespace
}  // namespace autopilot::agent::evidence_watch_test
