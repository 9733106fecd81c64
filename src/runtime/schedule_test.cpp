// SPDX-License-Identifier: Apache-2.0
#include "runtime/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const MonoTime kStart{1000s};

TEST(Schedule, everything_is_due_at_the_start) {
  Schedule schedule(1);
  schedule.set(0, 30s, true, kStart);
  schedule.set(1, 60s, true, kStart);
  EXPECT_THAT(schedule.take_due(kStart), ElementsAre(0U, 1U));
}

TEST(Schedule, a_running_entry_is_not_started_again) {
  Schedule schedule(1);
  schedule.set(0, 30s, true, kStart);
  (void)schedule.take_due(kStart);
  EXPECT_THAT(schedule.take_due(kStart + 10min), IsEmpty());
  EXPECT_EQ(schedule.next(), std::nullopt);
}

TEST(Schedule, periods_vary_by_at_most_a_tenth) {
  std::set<Duration> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Schedule schedule(seed);
    schedule.set(0, 30s, true, kStart);
    (void)schedule.take_due(kStart);
    schedule.finished(0, kStart);
    const Duration wait = *schedule.next() - kStart;
    EXPECT_GE(wait, 27s);
    EXPECT_LE(wait, 33s);
    seen.insert(wait);
  }
  EXPECT_GT(seen.size(), 50U);
}

TEST(Schedule, a_trigger_while_running_runs_it_once_more) {
  Schedule schedule(1);
  schedule.set(0, 30s, true, kStart);
  (void)schedule.take_due(kStart);
  schedule.trigger(0);
  schedule.trigger(0);
  EXPECT_THAT(schedule.take_due(kStart), IsEmpty());
  schedule.finished(0, kStart + 1s);
  EXPECT_THAT(schedule.take_due(kStart + 1s), ElementsAre(0U));
  schedule.finished(0, kStart + 2s);
  EXPECT_THAT(schedule.take_due(kStart + 2s), IsEmpty());
}

TEST(Schedule, what_happens_all_the_time_lets_an_entry_rest) {
  Schedule schedule(1);
  schedule.set(0, 30s, true, kStart);
  (void)schedule.take_due(kStart);
  schedule.trigger_by_news(0);
  schedule.finished(0, kStart, 300ms);
  EXPECT_THAT(schedule.take_due(kStart + 299ms), IsEmpty());
  EXPECT_EQ(schedule.next(), kStart + 300ms);
  EXPECT_THAT(schedule.take_due(kStart + 300ms), ElementsAre(0U));
  schedule.finished(0, kStart + 301ms, 300ms);
  EXPECT_THAT(schedule.take_due(kStart + 5s), IsEmpty());
  schedule.finished(0, kStart + 5s, 300ms);
  schedule.trigger(0);  // somebody asks
  EXPECT_THAT(schedule.take_due(kStart + 5s), ElementsAre(0U));
}

TEST(Schedule, news_run_an_entry_at_once_but_not_for_ever) {
  Schedule schedule(1);
  schedule.set(0, 30s, true, kStart);
  (void)schedule.take_due(kStart);
  schedule.finished(0, kStart);
  int runs = 0;
  for (auto now = kStart; now < kStart + 2s; now += 1ms) {
    schedule.trigger_by_news(0);
    if (schedule.take_due(now).empty()) continue;
    if (runs++ == 0) {
      EXPECT_EQ(now, kStart);
    }
    schedule.finished(0, now);
  }
  EXPECT_GE(runs, Schedule::kNewsAtOnce + 38);
  EXPECT_LE(runs, Schedule::kNewsAtOnce + 42);
}

TEST(Schedule, counts_what_starts_late) {
  Schedule schedule(1);
  schedule.set(0, 10s, true, kStart);
  (void)schedule.take_due(kStart);
  EXPECT_EQ(schedule.late(), 0U);
  schedule.finished(0, kStart);
  (void)schedule.take_due(kStart + 1min);
  EXPECT_EQ(schedule.late(), 1U);
}

TEST(Schedule, a_disabled_entry_never_runs_and_an_enabled_one_runs_at_once) {
  Schedule schedule(1);
  schedule.set(0, 30s, false, kStart);
  EXPECT_THAT(schedule.take_due(kStart + 1h), IsEmpty());
  schedule.set(0, 30s, true, kStart + 1h);
  EXPECT_THAT(schedule.take_due(kStart + 1h), ElementsAre(0U));
}

}  // namespace
}  // namespace autopilot::runtime
