// SPDX-License-Identifier: Apache-2.0
#include "agent/history_makers.hpp"

#include <chrono>
#include <gtest/gtest.h>

#include "agent/history_facts.hpp"
#include "store/history/history.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::agent::history_makers_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kTime{hours(500'000)};

class HistoryMakers : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = store::History::open(folder_ / "history.db", kTime);
    ASSERT_TRUE(opened) << opened.error().what;
    history_ = std::move(opened->history);
  }
  // Stores what it makes; the number of records.
  std::size_t apply(const store::HistoryWriter::Make& make) {
    const auto made = make(*history_);
    EXPECT_TRUE(made) << made.error().what;
    if (!made) return 0;
    const Status stored = history_->put(*made);
    EXPECT_TRUE(stored) << stored.error().what;
    return made->size();
  }
  template <class Record>
  std::vector<Record> stored(const std::string& type) {
    std::vector<Record> found;
    const auto records = history_->records({.types = {type}, .is_oldest_first = true});
    EXPECT_TRUE(records) << records.error().what;
    for (const auto& record : records.value_or(std::vector<learning::HistoryRecord>{}))
      found.push_back(std::get<Record>(record));
    return found;
  }

  host::TestFolder folder_;
  std::unique_ptr<store::History> history_;
};

learning::NodeJob requeued(Duration start, std::optional<Duration> end = {}) {
  learning::NodeJob job;
  job.place.node = "n1";
  job.job = "slurm/17";
  job.start = kTime + start;
  if (end) job.end = kTime + *end;
  return job;
}

TEST_F(HistoryMakers, a_job_that_runs_again_is_not_ended_by_the_validation_of_its_first_run) {
  apply(continue_job(requeued({})));
  apply(continue_job(requeued(hours{1}, hours{1})));
  apply(continue_job(requeued(hours{1} + seconds{5})));
  learning::NodeJob ended = requeued(seconds{3}, hours{1});
  ended.outcome = learning::JobOutcome::failed;
  ended.failure = "hardware";
  apply(explain_job(ended));
  const auto jobs = stored<learning::NodeJob>("job");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].end, kTime + hours{1});
  EXPECT_EQ(jobs[0].failure, "hardware");
  EXPECT_EQ(jobs[1].end, std::nullopt) << "it still runs";
  EXPECT_EQ(jobs[1].failure, "");
}

}  // namespace
}  // namespace autopilot::agent::history_makers_test
