// SPDX-License-Identifier: Apache-2.0
#include "jobs/work_rate.hpp"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>

#include "jobs/job_context.hpp"

namespace autopilot::jobs::work_rate_test {
namespace {

constexpr WallTime kStart{std::chrono::hours(500000)};

// How many of some minutes are confirmed.
int confirmed(WorkRate& work, int minutes, double period_s, double rate, double noise = 0,
              WorkRate::Source source = WorkRate::Source::nvlink) {
  int count = 0;
  for (int minute = 0; minute < minutes; ++minute)
    if (work.confirms(std::log(period_s),
                      WorkRate::Rate{source, std::log(rate * (minute % 2 == 0 ? 1 + noise : 1 - noise))}))
      ++count;
  return count;
}

TEST(WorkRate, steps_that_take_longer_do_less_work_in_a_second) {
  WorkRate work;
  EXPECT_EQ(confirmed(work, 30, 5, 1e10), 30);
  // The rate of five minutes follows within three.
  EXPECT_GE(confirmed(work, 30, 6, 1e10 * 5 / 6), 27);
  EXPECT_GE(confirmed(work, 30, 5, 1e10), 27);
}

TEST(WorkRate, a_longer_period_with_as_much_work_in_a_second_is_not_that_of_the_steps) {
  WorkRate work;
  confirmed(work, 30, 5, 1e10);
  EXPECT_EQ(confirmed(work, 59, 5 * 4.0 / 3, 1e10), 0);
  EXPECT_EQ(confirmed(work, 59, 5 * 1.04, 1e10), 0);
  EXPECT_EQ(confirmed(work, 30, 5, 1e10), 30);
}

TEST(WorkRate, steps_with_another_batch_are_those_of_the_job_after_an_hour) {
  WorkRate work;
  confirmed(work, 60, 5, 1e10);
  EXPECT_EQ(confirmed(work, 59, 7.5, 1e10), 0);
  EXPECT_FALSE(work.has_begun_anew());
  EXPECT_EQ(confirmed(work, 1, 7.5, 1e10), 1);
  EXPECT_TRUE(work.has_begun_anew());
  EXPECT_EQ(confirmed(work, 60, 7.5, 1e10), 60);
  EXPECT_FALSE(work.has_begun_anew());
}

TEST(WorkRate, rates_of_another_source_are_not_compared) {
  WorkRate work;
  confirmed(work, 60, 5, 1e11);
  EXPECT_EQ(confirmed(work, 60, 5, 2e9, 0, WorkRate::Source::nics), 60);
  EXPECT_EQ(confirmed(work, 1, 5, 0.4, 0, WorkRate::Source::tensor), 1);
  EXPECT_EQ(confirmed(work, 10, 5 * 4.0 / 3, 1e11), 0) << "what was learned before remains";
}

TEST(WorkRate, a_rate_that_varies_confirms_what_it_cannot_refute) {
  WorkRate work;
  confirmed(work, 30, 18, 1e10, 0.1);
  EXPECT_EQ(confirmed(work, 10, 18 * 1.1, 1e10, 0.1), 10);
  EXPECT_EQ(confirmed(work, 10, 18 * 2, 1e10, 0.1), 0);
}

TEST(WorkRate, an_unknown_rate_refutes_no_period) {
  WorkRate work;
  for (int minute = 0; minute < 60; ++minute)
    EXPECT_TRUE(work.confirms(minute < 30 ? 1 : 2, std::nullopt));
}

TEST(WorkRate, other_ranks_begin_anew) {
  WorkRate work;
  confirmed(work, 30, 5, 1e10);
  work.start();
  EXPECT_EQ(confirmed(work, 30, 8, 1e10), 30);
}

// A job with two GPUs of one node, and a window of it.
std::optional<WorkRate::Rate> rate_of(Metric metric, float value) {
  Fleet fleet(10);
  fleet.describe({.time = kStart, .node = "n1", .gpus = 2});
  JobRecord job{.time = kStart, .job = "a"};
  for (int gpu = 0; gpu < 2; ++gpu)
    job.ranks.push_back({.rank = gpu, .node = "n1", .gpu = gpu});
  for (int slot = 1; slot <= 6; ++slot) {
    WindowRecord window;
    window.time = kStart + std::chrono::seconds(10 * slot);
    window.length = std::chrono::seconds(10);
    window.node = "n1";
    window.gpus = {0, 1};
    window.nics = {"mlx5_0", "mlx5_1"};
    window.columns = {{metric, {value, value}}};
    fleet.add(window);
  }
  const Membership members(fleet, job);
  const EventMemory events;
  const Progress progress;
  return WorkRate::of_minute({job, members, fleet, events, progress}, kStart + std::chrono::minutes(1));
}

TEST(WorkRate, reads_the_first_source_that_is_known) {
  for (const Metric metric : {Metric::gpu_nvlink_bytes_s, Metric::nic_tx_bytes_s}) {
    const auto rate = rate_of(metric, 2e9F);
    ASSERT_TRUE(rate);
    EXPECT_NEAR(rate->log_rate, std::log(2e9), 1e-5);
    EXPECT_EQ(rate->source,
              metric == Metric::nic_tx_bytes_s ? WorkRate::Source::nics : WorkRate::Source::nvlink);
  }
  const auto rate = rate_of(Metric::gpu_tensor, 0.4F);
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->log_rate, std::log(0.4), 1e-5);
  EXPECT_EQ(rate->source, WorkRate::Source::tensor);
  EXPECT_FALSE(rate_of(Metric::gpu_nvlink_bytes_s, 0));
  EXPECT_FALSE(rate_of(Metric::gpu_power_w, 500));
}

}  // namespace
}  // namespace autopilot::jobs::work_rate_test
