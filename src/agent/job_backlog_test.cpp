// SPDX-License-Identifier: Apache-2.0
#include "agent/job_backlog.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::agent::job_backlog_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kWall{1767225600s};

Instant at(Duration passed) {
  return {kWall + passed, MonoTime(1000s) + passed};
}

class JobBacklogTest : public ::testing::Test {
 protected:
  void add_window(int number, Duration passed = 0s) {
    jobs::WindowRecord window{.time = kWall + number * 10s, .length = 10s, .node = "node-a"};
    window.columns.push_back({jobs::Metric::host_cpu, {0.5F}});
    backlog_.add(jobs::Record(window), at(passed).mono);
  }
  void add_xid(int code, Duration passed = 0s) {
    backlog_.add(jobs::XidRecord{.time = kWall, .node = "node-a", .xid = code}, at(passed).mono);
  }
  void add_job(const std::string& job) {
    jobs::JobRecord record{.time = kWall, .job = job};
    record.ranks.push_back({.rank = 0, .node = "node-a"});
    backlog_.add(record, at(0s).mono);
  }
  // What is sent; empty: nothing.
  std::string next(Duration passed = 0s) { return backlog_.next(at(passed)).value_or(""); }
  static api::JobBatch head_of(const std::string& body) {
    const auto parsed = api::parse_job_batch(body);
    EXPECT_TRUE(parsed) << body;
    return parsed ? parsed->batch : api::JobBatch{};
  }

  JobBacklog backlog_{"node-a", "i1", {.bytes = 4000, .batch_bytes = 1000}};
};

TEST_F(JobBacklogTest, sends_nothing_when_nothing_waits) {
  EXPECT_EQ(next(), "");
  EXPECT_FALSE(backlog_.is_due());
}

TEST_F(JobBacklogTest, a_batch_stays_the_same_until_it_is_taken) {
  add_xid(1);
  const std::string first = next();
  EXPECT_EQ(head_of(first).sequence, 1U);
  EXPECT_TRUE(head_of(first).is_whole);
  add_xid(2);
  EXPECT_EQ(next(), first);
  backlog_.take({.taken = 1});
  const std::string second = next();
  EXPECT_EQ(head_of(second).sequence, 2U);
  EXPECT_FALSE(head_of(second).is_whole);
  EXPECT_THAT(second, HasSubstr("\"xid\":2"));
  EXPECT_THAT(second, Not(HasSubstr("\"xid\":1,")));
  backlog_.take({.taken = 2});
  EXPECT_EQ(next(), "");
  EXPECT_EQ(backlog_.bytes(), 0U);
}

TEST_F(JobBacklogTest, a_receiver_that_forgot_gets_all_running_jobs_and_the_same_records) {
  backlog_.add(jobs::NodeRecord{.time = kWall, .node = "node-a"}, at(0s).mono);
  add_job("ml/a");
  add_job("ml/b");
  backlog_.add(jobs::JobEndRecord{.time = kWall, .job = "ml/a"}, at(0s).mono);
  (void)next();
  backlog_.take({.taken = 1});
  add_xid(79);
  (void)next();
  backlog_.take({.taken = 0, .wants_whole = true});
  const std::string whole = next();
  EXPECT_TRUE(head_of(whole).is_whole);
  EXPECT_EQ(head_of(whole).sequence, 2U);
  EXPECT_THAT(whole, HasSubstr("\"type\":\"node\""));
  EXPECT_THAT(whole, HasSubstr("ml/b"));
  EXPECT_THAT(whole, Not(HasSubstr("ml/a")));
  EXPECT_THAT(whole, HasSubstr("\"xid\":79"));
}

TEST_F(JobBacklogTest, when_there_is_no_room_windows_go_first_and_events_stay) {
  add_xid(79);
  add_job("ml/a");
  for (int i = 0; i < 100; ++i)
    add_window(i);
  backlog_.add(jobs::JobEndRecord{.time = kWall, .job = "ml/a"}, at(0s).mono);
  EXPECT_LE(backlog_.bytes(), 4000U);
  EXPECT_GT(backlog_.dropped(), 0U);
  std::string all;
  for (std::string body = next(); !body.empty(); body = next()) {
    all += body;
    backlog_.take({.taken = head_of(body).sequence});
  }
  EXPECT_THAT(all, HasSubstr("\"xid\":79"));
  EXPECT_THAT(all, HasSubstr("job_end"));
  EXPECT_THAT(all, HasSubstr("\"t\":1767226590"));       // the newest window
  EXPECT_THAT(all, Not(HasSubstr("\"t\":1767225610")));  // an old one
  EXPECT_EQ(head_of(all).dropped, backlog_.dropped());
}

TEST_F(JobBacklogTest, after_an_hour_without_a_receiver_only_events_are_left) {
  add_window(1);
  add_xid(79);
  EXPECT_THAT(next(), HasSubstr("window"));
  const std::string late = next(1h);
  EXPECT_THAT(late, Not(HasSubstr("window")));
  EXPECT_THAT(late, HasSubstr("\"xid\":79"));
  EXPECT_EQ(head_of(late).sent, kWall + 1h);
  EXPECT_EQ(head_of(late).dropped, 1U);
}

TEST_F(JobBacklogTest, a_full_batch_is_due_and_more_wait_for_the_next) {
  for (int i = 0; i < 20; ++i)
    add_window(i);
  EXPECT_TRUE(backlog_.is_due());
  const std::string first = next();
  EXPECT_LE(first.size(), 1200U);
  backlog_.take({.taken = 1});
  EXPECT_FALSE(next().empty());
}

TEST_F(JobBacklogTest, a_record_of_ten_megabytes_is_left_out) {
  jobs::JobRecord record{.time = kWall, .job = "ml/a"};
  for (int rank = 0; rank < 65'536; ++rank)
    record.ranks.push_back({.rank = rank, .node = "node-a", .gpu = 0, .role = std::string(100, 'r')});
  backlog_.add(record, at(0s).mono);
  EXPECT_EQ(backlog_.dropped(), 1U);
  EXPECT_EQ(next(), "");
}

TEST_F(JobBacklogTest, a_batch_that_the_receiver_cannot_read_is_given_up) {
  add_xid(1);
  (void)next();
  add_xid(2);
  backlog_.give_up();
  EXPECT_EQ(backlog_.dropped(), 1U);
  const std::string body = next();
  EXPECT_EQ(head_of(body).sequence, 2U);
  EXPECT_THAT(body, HasSubstr("\"xid\":2"));
}

}  // namespace
}  // namespace autopilot::agent::job_backlog_test
