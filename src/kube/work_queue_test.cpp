// SPDX-License-Identifier: Apache-2.0
#include "kube/work_queue.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const MonoTime kQueueStart{1000s};

WorkQueueLimits unlimited() {
  WorkQueueLimits limits;
  limits.spacing = 0s;
  limits.back_off = {.first = 1s, .last = 60s, .factor = 2.0, .jitter = 0.0};
  return limits;
}

double no_queue_jitter() {
  return 0.0;
}

std::vector<std::string> taken_keys(WorkQueue& queue, MonoTime now) {
  std::vector<std::string> keys;
  while (auto key = queue.take(now))
    keys.push_back(std::move(*key));
  return keys;
}

TEST(WorkQueue, a_key_that_is_added_often_is_worked_on_once) {
  WorkQueue queue(unlimited(), no_queue_jitter);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(queue.add("a", kQueueStart));
  queue.add("b", kQueueStart);
  EXPECT_EQ(queue.waiting(), 2U);
  EXPECT_THAT(taken_keys(queue, kQueueStart), ElementsAre("a", "b"));
  EXPECT_EQ(queue.next(kQueueStart), std::nullopt);
}

TEST(WorkQueue, what_is_added_while_it_is_worked_on_is_looked_at_once_more) {
  WorkQueue queue(unlimited(), no_queue_jitter);
  queue.add("a", kQueueStart);
  EXPECT_THAT(taken_keys(queue, kQueueStart), ElementsAre("a"));
  queue.add("a", kQueueStart + 1s);
  queue.add("a", kQueueStart + 2s);
  EXPECT_THAT(taken_keys(queue, kQueueStart + 3s), IsEmpty());
  queue.done("a");
  EXPECT_THAT(taken_keys(queue, kQueueStart + 3s), ElementsAre("a"));
  queue.done("a");
  EXPECT_EQ(queue.size(), 0U);
}

TEST(WorkQueue, a_key_comes_at_its_time_and_the_earliest_wish_counts) {
  WorkQueue queue(unlimited(), no_queue_jitter);
  queue.add("a", kQueueStart + 10s);
  queue.add("a", kQueueStart + 20s);
  queue.add("b", kQueueStart + 5s);
  EXPECT_EQ(queue.next(kQueueStart), kQueueStart + 5s);
  EXPECT_THAT(taken_keys(queue, kQueueStart + 4999ms), IsEmpty());
  EXPECT_THAT(taken_keys(queue, kQueueStart + 10s), ElementsAre("b", "a"));

  queue.add("c", kQueueStart + 10min);
  queue.add("c", kQueueStart + 11s);
  EXPECT_THAT(taken_keys(queue, kQueueStart + 11s), ElementsAre("c"));
}

TEST(WorkQueue, a_key_that_waits_long_is_not_overtaken_by_new_ones) {
  WorkQueueLimits limits = unlimited();
  limits.burst = 1;
  limits.spacing = 1s;
  WorkQueue queue(limits, no_queue_jitter);
  queue.add("late", kQueueStart + 1s);
  queue.add("x", kQueueStart);
  EXPECT_EQ(queue.take(kQueueStart), "x");
  queue.add("y", kQueueStart + 1500ms);
  queue.add("z", kQueueStart + 1500ms);
  EXPECT_EQ(queue.take(kQueueStart + 2s), "late");
  EXPECT_EQ(queue.take(kQueueStart + 3s), "y");
}

TEST(WorkQueue, failures_make_a_key_wait_longer_until_it_succeeds) {
  WorkQueue queue(unlimited(), no_queue_jitter);
  MonoTime now = kQueueStart;
  queue.add("a", now);
  for (const Duration wait : {1s, 2s, 4s, 8s}) {
    ASSERT_THAT(taken_keys(queue, now), ElementsAre("a"));
    queue.failed("a", now);
    EXPECT_EQ(queue.next(now), now + wait);
    now += wait;
  }
  EXPECT_EQ(queue.failures("a"), 4U);
  ASSERT_THAT(taken_keys(queue, now), ElementsAre("a"));
  queue.done("a");
  EXPECT_EQ(queue.failures("a"), 0U);
  queue.add("a", now);
  ASSERT_THAT(taken_keys(queue, now), ElementsAre("a"));
  queue.failed("a", now);
  EXPECT_EQ(queue.next(now), now + 1s);
}

TEST(WorkQueue, news_end_a_back_off_but_not_what_the_server_asked_for) {
  WorkQueue queue(unlimited(), no_queue_jitter);
  queue.add("own", kQueueStart);
  queue.add("servers", kQueueStart);
  ASSERT_THAT(taken_keys(queue, kQueueStart), ElementsAre("own", "servers"));
  queue.add("servers", kQueueStart);  // while it is worked on
  queue.failed("own", kQueueStart);
  queue.failed("servers", kQueueStart, 30s);
  queue.add("own", kQueueStart);
  queue.add("servers", kQueueStart);
  EXPECT_THAT(taken_keys(queue, kQueueStart), ElementsAre("own"));
  EXPECT_EQ(queue.next(kQueueStart), kQueueStart + 30s);
  EXPECT_EQ(queue.failures("own"), 1U);
}

TEST(WorkQueue, so_many_at_once_and_then_one_at_a_time) {
  WorkQueueLimits limits = unlimited();
  limits.burst = 3;
  limits.spacing = 100ms;
  WorkQueue queue(limits, no_queue_jitter);
  for (const char* key : {"a", "b", "c", "d", "e"})
    queue.add(key, kQueueStart);
  EXPECT_THAT(taken_keys(queue, kQueueStart), ElementsAre("a", "b", "c"));
  EXPECT_EQ(queue.next(kQueueStart), kQueueStart + 100ms);
  EXPECT_THAT(taken_keys(queue, kQueueStart + 100ms), ElementsAre("d"));
  EXPECT_THAT(taken_keys(queue, kQueueStart + 200ms), ElementsAre("e"));
}

TEST(WorkQueue, a_full_queue_counts_what_it_refuses_and_keeps_what_it_has) {
  WorkQueueLimits limits = unlimited();
  limits.keys = 2;
  WorkQueue queue(limits, no_queue_jitter);
  EXPECT_TRUE(queue.add("a", kQueueStart));
  EXPECT_TRUE(queue.add("b", kQueueStart));
  EXPECT_FALSE(queue.add("c", kQueueStart));
  EXPECT_TRUE(queue.add("a", kQueueStart));
  EXPECT_EQ(queue.refused(), 1U);
  EXPECT_THAT(taken_keys(queue, kQueueStart), ElementsAre("a", "b"));
  EXPECT_FALSE(queue.add("c", kQueueStart));
  EXPECT_TRUE(queue.add("a", kQueueStart));  // is worked on
  queue.failed("a", kQueueStart);            // a failure is never refused
  queue.done("b");
  EXPECT_TRUE(queue.add("c", kQueueStart));
  EXPECT_EQ(queue.refused(), 2U);
}

TEST(WorkQueue, a_forgotten_key_does_not_come_again) {
  WorkQueue queue(unlimited(), no_queue_jitter);
  queue.add("waits", kQueueStart + 1min);
  queue.add("worked on", kQueueStart);
  ASSERT_THAT(taken_keys(queue, kQueueStart), ElementsAre("worked on"));
  queue.add("worked on", kQueueStart);
  queue.forget("waits");
  queue.forget("worked on");
  queue.forget("unknown");
  EXPECT_EQ(queue.size(), 1U);
  queue.done("worked on");
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_THAT(taken_keys(queue, kQueueStart + 1h), IsEmpty());
}

// What the header says, without regard to cost: every key in a list.
class Model {
 public:
  explicit Model(std::size_t limit) : limit_(limit) {}

  bool add(const std::string& key, MonoTime when) {
    if (!keys_.contains(key) && keys_.size() >= limit_) return false;
    want(keys_[key], when);
    return true;
  }
  // The times of those that are due, by key.
  [[nodiscard]] std::map<std::string, MonoTime> due(MonoTime now) const {
    std::map<std::string, MonoTime> due;
    for (const auto& [key, state] : keys_)
      if (!state.is_worked_on && state.wish && *state.wish <= now) due[key] = *state.wish;
    return due;
  }
  [[nodiscard]] std::optional<MonoTime> earliest() const {
    std::optional<MonoTime> earliest;
    for (const auto& [key, state] : keys_)
      if (!state.is_worked_on && state.wish) earliest = std::min(earliest.value_or(*state.wish), *state.wish);
    return earliest;
  }
  void take(const std::string& key) {
    keys_[key].wish.reset();
    keys_[key].is_worked_on = true;
  }
  void done(const std::string& key) {
    keys_[key].is_worked_on = false;
    keys_[key].failures = 0;
    if (!keys_[key].wish) keys_.erase(key);
  }
  void failed(const std::string& key, MonoTime now, std::optional<Duration> retry_after) {
    State& state = keys_[key];
    state.is_worked_on = false;
    const Duration own = std::min<Duration>(60s, 1s * (1 << std::min(state.failures++, 6)));
    if (retry_after) state.rested = now + *retry_after;
    if (state.wish) state.wish = std::max(*state.wish, state.rested);
    want(state, now + std::max(own, retry_after.value_or(0s)));
  }
  void forget(const std::string& key) {
    if (!keys_.contains(key)) return;
    keys_[key].wish.reset();
    keys_[key].failures = 0;
    if (!keys_[key].is_worked_on) keys_.erase(key);
  }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  struct State {
    std::optional<MonoTime> wish;
    bool is_worked_on = false;
    int failures = 0;
    MonoTime rested{};
  };
  static void want(State& state, MonoTime when) {
    when = std::max(when, state.rested);
    state.wish = std::min(state.wish.value_or(when), when);
  }

  std::size_t limit_;
  std::map<std::string, State> keys_;
};

class RandomWork {
 public:
  explicit RandomWork(std::uint64_t seed) : random_(seed) {}

  void step() {
    now_ += std::chrono::milliseconds(below(300));
    const std::string key(1, static_cast<char>('a' + below(8)));
    switch (below(6)) {
      case 0:
      case 1:
        add(key, now_);
        break;
      case 2:
        add(key, now_ + std::chrono::milliseconds(below(5000)));
        break;
      case 3:
        take();
        break;
      case 4:
        end_one();
        break;
      default:
        if (below(10) > 0) break;
        queue_.forget(key);
        model_.forget(key);
    }
    EXPECT_EQ(queue_.size(), model_.size());
    const auto earliest = model_.earliest();
    EXPECT_EQ(queue_.next(now_), earliest ? std::optional(std::max(now_, *earliest)) : std::nullopt);
  }
  // Works until nothing waits: no wish may be lost.
  void drain() {
    while (!in_work_.empty() || queue_.next(now_)) {
      if (const auto next = queue_.next(now_)) now_ = *next;
      take();
      while (!in_work_.empty())
        end(true);
    }
    EXPECT_EQ(queue_.size(), 0U);
    EXPECT_EQ(model_.size(), 0U);
  }
  [[nodiscard]] std::size_t worked() const { return worked_; }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  void add(const std::string& key, MonoTime when) { EXPECT_EQ(queue_.add(key, when), model_.add(key, when)); }
  void take() {
    const auto due = model_.due(now_);
    const auto key = queue_.take(now_);
    ASSERT_EQ(key.has_value(), !due.empty());
    if (!key) return;
    ASSERT_TRUE(due.contains(*key)) << *key;
    for (const auto& [other, when] : due)
      EXPECT_LE(due.at(*key), when) << *key << " before " << other;
    model_.take(*key);
    in_work_.push_back(*key);
    ++worked_;
  }
  void end_one() {
    if (!in_work_.empty()) end(below(2) == 0);
  }
  void end(bool well) {
    const auto at = in_work_.begin() + below(static_cast<int>(in_work_.size()));
    const std::string key = *at;
    in_work_.erase(at);
    if (well) {
      queue_.done(key);
      model_.done(key);
      return;
    }
    const std::optional<Duration> asked = below(4) == 0 ? std::optional<Duration>(20s) : std::nullopt;
    queue_.failed(key, now_, asked);
    model_.failed(key, now_, asked);
  }
  static WorkQueueLimits limits() {
    WorkQueueLimits limits = unlimited();
    limits.keys = 6;
    return limits;
  }

  std::mt19937_64 random_;
  MonoTime now_ = kQueueStart;
  WorkQueue queue_{limits(), no_queue_jitter};
  Model model_{6};
  std::vector<std::string> in_work_;
  std::size_t worked_ = 0;
};

TEST(WorkQueue, does_what_a_simple_list_would_do_whatever_comes) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    RandomWork work(seed);
    for (int i = 0; i < 1000; ++i)
      work.step();
    work.drain();
    EXPECT_GT(work.worked(), 50U);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace autopilot::kube
