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

Lanes::Ticket submit_blocking(Lanes& lanes, const std::shared_ptr<Gate>& gate) {
  const auto ticket = lanes.submit([gate] {
    gate->entered.set_value();
    gate->opened.wait();
  });
  gate->entered.get_future().wait();
  return ticket;
}

TEST(Lanes, runs_what_is_submitted) {
  Lanes lanes({.lanes = 2, .max_stuck = 1, .max_queued = 8});
  auto done = std::make_shared<std::promise<int>>();
  EXPECT_NE(lanes.submit([done] { done->set_value(7); }), 0U);
  EXPECT_EQ(done->get_future().get(), 7);
}

TEST(Lanes, an_abandoned_lane_is_replaced_and_others_go_on) {
  Lanes lanes({.lanes = 1, .max_stuck = 1, .max_queued = 8});
  auto gate = std::make_shared<Gate>();
  const auto ticket = submit_blocking(lanes, gate);
  EXPECT_TRUE(lanes.abandon(ticket));
  EXPECT_EQ(lanes.counts().stuck, 1);
  EXPECT_EQ(lanes.counts().lanes, 1);
  auto done = std::make_shared<std::promise<void>>();
  EXPECT_NE(lanes.submit([done] { done->set_value(); }), 0U);
  EXPECT_EQ(done->get_future().wait_for(10s), std::future_status::ready);
  gate->promise.set_value();
}

TEST(Lanes, replacements_stop_at_the_cap_and_a_lane_that_comes_back_works_again) {
  Lanes lanes({.lanes = 1, .max_stuck = 1, .max_queued = 8});
  auto first = std::make_shared<Gate>();
  auto second = std::make_shared<Gate>();
  EXPECT_TRUE(lanes.abandon(submit_blocking(lanes, first)));
  EXPECT_TRUE(lanes.abandon(submit_blocking(lanes, second)));
  EXPECT_EQ(lanes.counts().stuck, 2);
  EXPECT_EQ(lanes.counts().lanes, 0);
  auto done = std::make_shared<std::promise<void>>();
  EXPECT_NE(lanes.submit([done] { done->set_value(); }), 0U);
  auto finished = done->get_future();
  first->promise.set_value();
  EXPECT_EQ(finished.wait_for(10s), std::future_status::ready);
  second->promise.set_value();
}

TEST(Lanes, a_full_queue_refuses_and_counts) {
  Lanes lanes({.lanes = 1, .max_stuck = 1, .max_queued = 2});
  auto gate = std::make_shared<Gate>();
  (void)submit_blocking(lanes, gate);
  EXPECT_NE(lanes.submit([] {}), 0U);
  EXPECT_NE(lanes.submit([] {}), 0U);
  EXPECT_EQ(lanes.submit([] {}), 0U);
  EXPECT_EQ(lanes.counts().refused, 1U);
  gate->promise.set_value();
}

TEST(Lanes, a_queued_task_that_is_abandoned_never_runs) {
  auto ran = std::make_shared<std::atomic<bool>>(false);
  Lanes lanes({.lanes = 1, .max_stuck = 1, .max_queued = 8});
  auto gate = std::make_shared<Gate>();
  (void)submit_blocking(lanes, gate);
  const auto ticket = lanes.submit([ran] { *ran = true; });
  EXPECT_TRUE(lanes.abandon(ticket));
  EXPECT_EQ(lanes.counts().stuck, 0);
  gate->promise.set_value();
  EXPECT_TRUE(lanes.stop(10s));
  EXPECT_FALSE(*ran);
}

TEST(Lanes, stop_does_not_wait_for_a_stuck_lane) {
  auto gate = std::make_shared<Gate>();
  {
    Lanes lanes({.lanes = 1, .max_stuck = 1, .max_queued = 8});
    (void)lanes.abandon(submit_blocking(lanes, gate));
    EXPECT_FALSE(lanes.stop(10s));
  }
  gate->promise.set_value();
}

TEST(Lanes, a_finished_task_cannot_be_abandoned) {
  Lanes lanes({.lanes = 1, .max_stuck = 1, .max_queued = 8});
  const auto ticket = lanes.submit([] {});
  EXPECT_TRUE(lanes.stop(10s));
  EXPECT_FALSE(lanes.abandon(ticket));
}

}  // namespace

}  // namespace autopilot::runtime
