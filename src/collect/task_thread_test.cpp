// SPDX-License-Identifier: Apache-2.0
#include "collect/task_thread.hpp"

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <memory>

namespace autopilot::collect {
namespace {

// A thread whose tasks wait until they are released.
struct HeldTasks {
  std::promise<void> begun, released;
  std::shared_ptr<std::atomic<int>> done = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<TaskThread<int, int>> thread;

  explicit HeldTasks(std::size_t most_waiting) {
    thread = std::make_unique<TaskThread<int, int>>(
        most_waiting, [this, gate = released.get_future().share(), done = done](int task) {
          if (task == 0) begun.set_value();
          gate.wait();
          ++*done;
          done->notify_all();
          return task * 10;
        });
  }
  void wait_for(int count) const {
    for (int now = *done; now < count; now = *done)
      done->wait(now);
  }
};

TEST(TaskThread, outcomes_come_once_in_the_order_of_the_tasks) {
  HeldTasks tasks(8);
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(tasks.thread->add(i));
  EXPECT_TRUE(tasks.thread->take().empty());
  tasks.released.set_value();
  std::vector<int> outcomes;
  while (outcomes.size() < 4)
    for (const int outcome : tasks.thread->take())
      outcomes.push_back(outcome);
  EXPECT_EQ(outcomes, (std::vector<int>{0, 10, 20, 30}));
  EXPECT_TRUE(tasks.thread->take().empty());
}

TEST(TaskThread, a_task_beyond_the_limit_is_refused) {
  HeldTasks tasks(2);
  EXPECT_TRUE(tasks.thread->add(0));
  tasks.begun.get_future().wait();  // it no longer waits
  EXPECT_TRUE(tasks.thread->add(1));
  EXPECT_TRUE(tasks.thread->add(2));
  EXPECT_FALSE(tasks.thread->add(3));
  tasks.released.set_value();
  tasks.wait_for(3);
}

TEST(TaskThread, its_end_waits_for_no_task) {
  HeldTasks tasks(8);
  EXPECT_TRUE(tasks.thread->add(0));
  EXPECT_TRUE(tasks.thread->add(1));
  tasks.begun.get_future().wait();
  tasks.thread.reset();  // returns although the task waits
  EXPECT_EQ(*tasks.done, 0);
  tasks.released.set_value();
  tasks.wait_for(1);
}

}  // namespace
}  // namespace autopilot::collect
