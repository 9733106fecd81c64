// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/jobs_runner.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "api/job_records.hpp"
#include "host/clock/system_clock.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent::jobs_runner_test {
namespace {

using namespace std::chrono_literals;
using net::testing::eventually;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// A source that blocks while the gate is closed. Shared with threads that are left behind.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    --waiting_;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  bool wait_for_one() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int waiting_ = 0;
};

class GatedSource final : public collect::Source {
 public:
  explicit GatedSource(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  void poll(const collect::SeenJobs&, WallTime, std::vector<jobs::Record>&) override { gate_->pass(); }

 private:
  std::shared_ptr<Gate> gate_;
};

class OneJob final : public JobSearch {
 public:
  Result<collect::SeenJobs> look(Instant now) override {
    collect::SeenJob job;
    job.record = {.time = now.wall, .job = "a", .name = "a"};
    job.record.ranks.push_back({.rank = 0, .node = "n0", .pid = 100});
    job.processes.push_back({.pid = 100, .rank = 0});
    return collect::SeenJobs{.time = now.wall, .jobs = {job}, .not_seen = {}};
  }
  std::vector<jobs::JobEndRecord> take_ended() override { return {}; }
};

// Outlives the threads that a test leaves behind.
const host::SystemClock& machine_clock() {
  static const host::SystemClock clock;
  return clock;
}

class JobsRunnerTest : public ::testing::Test {
 protected:
  ~JobsRunnerTest() override { gate_->open(); }

  void start() {
    runner_ = std::make_unique<JobsRunner>(machine_clock(), [gate = gate_, alive = alive_] {
      NodeJobsOptions options;
      options.node = "n0";
      options.on_records = [alive](const auto&) {};  // held as long as the object
      std::vector<JobSource> sources;
      sources.push_back({"gate", std::make_unique<GatedSource>(gate)});
      return std::make_unique<NodeJobs>(options, machine_clock(), std::make_unique<OneJob>(),
                                        std::move(sources));
    });
    runner_->start();
  }
  void block() {
    gate_->close();
    start();
    ASSERT_TRUE(gate_->wait_for_one());
  }
  [[nodiscard]] bool is_seen(const std::string& job) const {
    const auto snapshot = runner_->snapshot();
    for (const jobs::JobReport& report : snapshot->list.jobs)
      if (report.state.job == job) return true;
    return false;
  }

  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::unique_ptr<JobsRunner> runner_;
};

TEST_F(JobsRunnerTest, jobs_are_seen_after_the_start_and_the_thread_ends_at_the_stop) {
  start();
  EXPECT_TRUE(eventually([this] { return is_seen("a"); }));
  runner_->stop();
  EXPECT_EQ(alive_.use_count(), 2) << "the test's and the maker's; the jobs are gone";
  EXPECT_EQ(runner_->post([](NodeJobs&) {}).error().code, Errc::unavailable);
  EXPECT_TRUE(is_seen("a"));
  runner_->stop();
}

TEST_F(JobsRunnerTest, a_runner_that_never_started_has_an_empty_snapshot_and_stops) {
  JobsRunner runner(machine_clock(), [] { return std::unique_ptr<NodeJobs>(); });
  EXPECT_THAT(runner.snapshot()->list.jobs, SizeIs(0));
  runner.stop();
}

TEST_F(JobsRunnerTest, tasks_run_in_their_order) {
  start();
  const auto order = std::make_shared<std::vector<int>>();
  std::promise<void> done;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(runner_->post([order, i](NodeJobs&) { order->push_back(i); }));
  ASSERT_TRUE(runner_->post([&done](NodeJobs&) { done.set_value(); }));
  ASSERT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
  EXPECT_THAT(*order, ElementsAre(0, 1, 2));
}

TEST_F(JobsRunnerTest, while_a_source_blocks_tasks_wait_up_to_the_limit_and_readers_do_not) {
  block();
  const auto ran = std::make_shared<std::atomic<std::size_t>>(0);
  for (std::size_t i = 0; i < JobsRunner::kMostTasks; ++i)
    ASSERT_TRUE(runner_->post([ran](NodeJobs&) { ++*ran; }));
  EXPECT_EQ(runner_->post([](NodeJobs&) {}).error().code, Errc::exhausted);
  EXPECT_NE(runner_->snapshot(), nullptr);
  EXPECT_EQ(*ran, 0U);
  gate_->open();
  EXPECT_TRUE(eventually([&] { return *ran == JobsRunner::kMostTasks; }));
}

TEST_F(JobsRunnerTest, records_beyond_the_limit_are_dropped_and_counted_while_a_source_blocks) {
  block();
  runner_->add(std::vector<jobs::Record>(NodeJobs::kMostWaiting + 5,
                                         jobs::HeartbeatRecord{.time = {}, .job = "a", .rank = 0}));
  gate_->open();
  EXPECT_TRUE(eventually([this] { return runner_->snapshot()->counts.dropped >= 5; }));
}

TEST_F(JobsRunnerTest, a_source_that_blocks_does_not_stop_the_agent_from_ending) {
  block();
  const auto task = std::make_shared<int>();
  ASSERT_TRUE(runner_->post([task](NodeJobs&) {}));
  runner_->stop();
  runner_.reset();
  EXPECT_GT(task.use_count(), 1) << "its thread is left to itself, with what waits";
  gate_->open();
  EXPECT_TRUE(eventually([&] { return task.use_count() == 1 && alive_.use_count() == 1; }));
}

TEST_F(JobsRunnerTest, what_another_node_sent_becomes_a_job) {
  start();
  jobs::JobRecord record{.time = machine_clock().now().wall, .job = "b", .name = "b"};
  record.ranks.push_back({.rank = 0, .node = "n1", .gpu = 0});
  ASSERT_TRUE(
      runner_->receive({.node = "n1", .lines = api::to_line(jobs::Record(record)), .is_whole = true}));
  EXPECT_TRUE(eventually([this] { return is_seen("b"); }));
}

}  // namespace
}  // namespace autopilot::agent::jobs_runner_test
