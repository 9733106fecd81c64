// SPDX-License-Identifier: Apache-2.0

#include "runtime/workers.hpp"

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace autopilot::runtime {

namespace {

using namespace std::chrono_literals;

// A task that blocks until it is released, as a hung driver call does.
struct Gate {
  std::promise<void> promise;
  std::shared_future<void> opened = promise.get_future().share();
  std::promise<void> entered;
};

Workers::Ticket submit_blocking(Workers& workers, const std::shared_ptr<Gate>& gate) {
  const auto ticket = workers.submit([gate] {
    gate->entered.set_value();
    gate->opened.wait();
  });
  gate->entered.get_future().wait();
  return ticket;
}

TEST(Workers, runs_what_is_submitted) {
  Workers workers({.threads = 2, .max_stuck = 1, .max_queued = 8});
  auto done = std::make_shared<std::promise<int>>();
  EXPECT_NE(workers.submit([done] { done->set_value(7); }), 0U);
  EXPECT_EQ(done->get_future().get(), 7);
}

TEST(Workers, an_abandoned_lane_is_replaced_and_others_go_on) {
  Workers workers({.threads = 1, .max_stuck = 1, .max_queued = 8});
  auto gate = std::make_shared<Gate>();
  const auto ticket = submit_blocking(workers, gate);
  EXPECT_TRUE(workers.abandon(ticket));
  EXPECT_EQ(workers.counts().stuck, 1);
  EXPECT_EQ(workers.counts().threads, 1);
  auto done = std::make_shared<std::promise<void>>();
  EXPECT_NE(workers.submit([done] { done->set_value(); }), 0U);
  EXPECT_EQ(done->get_future().wait_for(10s), std::future_status::ready);
  gate->promise.set_value();
}

TEST(Workers, replacements_stop_at_the_cap_and_a_lane_that_comes_back_works_again) {
  Workers workers({.threads = 1, .max_stuck = 1, .max_queued = 8});
  auto first = std::make_shared<Gate>();
  auto second = std::make_shared<Gate>();
  EXPECT_TRUE(workers.abandon(submit_blocking(workers, first)));
  EXPECT_TRUE(workers.abandon(submit_blocking(workers, second)));
  EXPECT_EQ(workers.counts().stuck, 2);
  EXPECT_EQ(workers.counts().threads, 0);
  auto done = std::make_shared<std::promise<void>>();
  EXPECT_NE(workers.submit([done] { done->set_value(); }), 0U);
  auto finished = done->get_future();
  first->promise.set_value();
  EXPECT_EQ(finished.wait_for(10s), std::future_status::ready);
  second->promise.set_value();
}

TEST(Workers, a_full_queue_refuses_and_counts) {
  Workers workers({.threads = 1, .max_stuck = 1, .max_queued = 2});
  auto gate = std::make_shared<Gate>();
  (void)submit_blocking(workers, gate);
  EXPECT_NE(workers.submit([] {}), 0U);
  EXPECT_NE(workers.submit([] {}), 0U);
  EXPECT_EQ(workers.submit([] {}), 0U);
  EXPECT_EQ(workers.counts().refused, 1U);
  gate->promise.set_value();
}

TEST(Workers, a_queued_task_that_is_abandoned_never_runs) {
  auto ran = std::make_shared<std::atomic<bool>>(false);
  Workers workers({.threads = 1, .max_stuck = 1, .max_queued = 8});
  auto gate = std::make_shared<Gate>();
  (void)submit_blocking(workers, gate);
  const auto ticket = workers.submit([ran] { *ran = true; });
  EXPECT_TRUE(workers.abandon(ticket));
  EXPECT_EQ(workers.counts().stuck, 0);
  gate->promise.set_value();
  EXPECT_TRUE(workers.stop(10s));
  EXPECT_FALSE(*ran);
}

TEST(Workers, stop_does_not_wait_for_a_stuck_lane) {
  auto gate = std::make_shared<Gate>();
  {
    Workers workers({.threads = 1, .max_stuck = 1, .max_queued = 8});
    (void)workers.abandon(submit_blocking(workers, gate));
    EXPECT_FALSE(workers.stop(10s));
  }
  gate->promise.set_value();
}

TEST(Workers, a_finished_task_cannot_be_abandoned) {
  Workers workers({.threads = 1, .max_stuck = 1, .max_queued = 8});
  const auto ticket = workers.submit([] {});
  EXPECT_TRUE(workers.stop(10s));
  EXPECT_FALSE(workers.abandon(ticket));
}

}  // namespace

}  // namespace autopilot::runtime
