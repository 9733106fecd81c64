// SPDX-License-Identifier: Apache-2.0
#include "net/event_loop.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace autopilot::net {
namespace {

using namespace std::chrono_literals;

TEST(EventLoop, runs_what_other_threads_post_in_their_order) {
  EventLoop loop;
  std::vector<int> seen;
  std::thread sender([&] {
    for (int i = 0; i < 1000; ++i)
      loop.post([&seen, i] { seen.push_back(i); });
    loop.post([&loop] { loop.stop(); });
  });
  loop.run();
  sender.join();
  ASSERT_EQ(seen.size(), 1000U);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(EventLoop, stop_before_run_is_not_lost_and_run_may_follow) {
  EventLoop loop;
  loop.stop();
  loop.run();
  bool ran = false;
  loop.post([&] {
    ran = true;
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(ran);
}

TEST(EventLoop, timers_fire_in_the_order_of_their_time) {
  EventLoop loop;
  std::string order;
  const auto late = loop.after(30ms, [&] {
    order += 'c';
    loop.stop();
  });
  const auto early = loop.after(10ms, [&] { order += 'b'; });
  const auto past = loop.at(MonoTime{}, [&] { order += 'a'; });
  loop.run();
  EXPECT_EQ(order, "abc");
  EXPECT_FALSE(early.is_active());
}

TEST(EventLoop, a_cancelled_timer_does_not_fire_even_when_due) {
  EventLoop loop;
  bool fired = false;
  Subscription victim;
  const auto killer = loop.at(MonoTime{}, [&] { victim.cancel(); });
  victim = loop.at(MonoTime{} + 1ns, [&] { fired = true; });
  const auto end = loop.after(20ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(fired);
  EXPECT_FALSE(victim.is_active());
}

TEST(EventLoop, a_periodic_timer_repeats_until_it_is_dropped_from_within) {
  EventLoop loop;
  int count = 0;
  auto periodic = std::make_unique<Subscription>();
  *periodic = loop.every(1ms, [&] {
    if (++count == 3) periodic.reset();
  });
  const auto end = loop.after(50ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(count, 3);
}

TEST(EventLoop, watches_a_descriptor_and_leaves_it_to_its_owner) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  EventLoop loop;
  std::string text;
  {
    auto watch = loop.watch_readable(ends[0], [&] {
      char c = 0;
      if (read(ends[0], &c, 1) == 1) text += c;
      if (text.size() == 3) loop.stop();
    });
    ASSERT_TRUE(watch);
    ASSERT_EQ(write(ends[1], "abc", 3), 3);
    loop.run();
  }
  EXPECT_EQ(text, "abc");
  // Still open, and may be watched again.
  auto again = loop.watch_readable(ends[0], [&] { loop.stop(); });
  ASSERT_TRUE(again);
  ASSERT_EQ(write(ends[1], "d", 1), 1);
  loop.run();
  again->cancel();
  EXPECT_EQ(close(ends[0]), 0);
  EXPECT_EQ(close(ends[1]), 0);
}

TEST(EventLoop, says_which_descriptor_cannot_be_watched) {
  EventLoop loop;
  const auto watch = loop.watch_readable(999, [] {});
  ASSERT_FALSE(watch);
  EXPECT_NE(watch.error().what.find("999"), std::string::npos);
}

TEST(EventLoop, hands_over_signals) {
  EventLoop loop;
  std::vector<int> seen;
  auto signals = loop.on_signal({SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (signal == SIGUSR2) loop.stop();
  });
  ASSERT_TRUE(signals);
  std::raise(SIGUSR1);
  loop.post([] { std::raise(SIGUSR2); });
  loop.run();
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
}

TEST(EventLoop, drops_what_it_never_ran) {
  const auto token = std::make_shared<int>(1);
  {
    EventLoop loop;
    loop.post([token] {});
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace autopilot::net
