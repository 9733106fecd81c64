// SPDX-License-Identifier: Apache-2.0
#include "job_hub/hub.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <vector>

#include "api/job_records.hpp"

namespace autopilot::job_hub::hub_test {
namespace {

using namespace std::chrono_literals;

class HubClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    const Duration passed{passed_.load()};
    return {WallTime(1767225600s) + passed, MonoTime(1000s) + passed};
  }
  void pass(Duration time) { passed_ += time.count(); }

 private:
  std::atomic<std::int64_t> passed_{0};
};

class JobHubTest : public ::testing::Test {
 protected:
  // Runs the function with the brain, after all that was offered.
  template <class Read>
  auto with_brain(JobHub& hub, Read read) {
    std::promise<decltype(read(std::declval<jobs::Brain&>()))> result;
    EXPECT_TRUE(hub.ask([&](jobs::Brain& brain, WallTime) { result.set_value(read(brain)); }));
    return result.get_future().get();
  }
  [[nodiscard]] NodeBatch part_of_job(int node, int ranks_of_node, int attempt) const {
    const std::string name = "node-" + std::to_string(node);
    jobs::JobRecord record{.time = clock_.now().wall, .job = "ml/big", .name = "big"};
    record.attempt = attempt;
    for (int i = 0; i < ranks_of_node; ++i)
      record.ranks.push_back({.rank = node * ranks_of_node + i, .node = name, .gpu = i});
    return {.node = name, .lines = api::to_line(jobs::Record(std::move(record))), .is_whole = attempt == 1};
  }

  HubClock clock_;
};

TEST_F(JobHubTest, a_job_of_4096_ranks_that_restarts_every_minute_stays_one_job) {
  JobHub hub(clock_, {}, nullptr, {});
  for (int attempt = 1; attempt <= 10; ++attempt) {
    for (int node = 0; node < 512; ++node)
      ASSERT_TRUE(hub.offer(part_of_job(node, 8, attempt)));
    for (int i = 0; i < 12; ++i) {
      clock_.pass(5s);
      (void)with_brain(hub, [](jobs::Brain&) { return 0; });
    }
  }
  const auto reports = with_brain(hub, [](jobs::Brain& brain) { return brain.reports(); });
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].state.ranks, 4096);
  EXPECT_EQ(reports[0].nodes.size(), 512U);
  EXPECT_EQ(reports[0].state.attempt, 10);
}

TEST_F(JobHubTest, results_are_reported_once) {
  std::mutex mutex;
  std::vector<std::string> changed;
  JobHub hub(clock_, {},
             [&](const HubResults& results) {
               const std::lock_guard lock(mutex);
               for (const auto& report : results.changed)
                 changed.push_back(report.state.job);
             },
             {});
  ASSERT_TRUE(hub.offer(part_of_job(0, 8, 1)));
  for (int i = 0; i < 6; ++i) {
    clock_.pass(5s);
    (void)with_brain(hub, [](jobs::Brain&) { return 0; });
  }
  (void)with_brain(hub, [](jobs::Brain&) { return 0; });
  const std::lock_guard lock(mutex);
  EXPECT_THAT(changed, ::testing::Contains("ml/big"));
}

TEST_F(JobHubTest, what_waits_is_limited_and_a_busy_brain_never_blocks_the_sender) {
  JobHub hub(clock_, {}, nullptr, {.batches = 3, .bytes = 1000, .questions = 1});
  std::promise<void> begun;
  std::promise<void> go;
  ASSERT_TRUE(hub.ask([&](jobs::Brain&, WallTime) {
    begun.set_value();
    go.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_FALSE(hub.offer({.node = "node-a", .lines = std::string(1001, ' ')}));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(hub.offer({.node = "node-a", .lines = "\n"}));
  EXPECT_FALSE(hub.offer({.node = "node-a", .lines = "\n"}));
  EXPECT_EQ(hub.stats().waiting, 3U);
  EXPECT_EQ(hub.stats().refused, 2U);
  go.set_value();
  EXPECT_EQ(with_brain(hub, [](jobs::Brain&) { return 1; }), 1);
  EXPECT_EQ(hub.stats().waiting, 0U);
  EXPECT_EQ(hub.stats().waiting_bytes, 0U);
}

TEST_F(JobHubTest, a_hub_ends_with_batches_that_wait) {
  JobHub hub(clock_, {}, nullptr, {});
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(hub.offer(part_of_job(i, 8, 1)));
}

}  // namespace
}  // namespace autopilot::job_hub::hub_test
