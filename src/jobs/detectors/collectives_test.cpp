// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/collectives.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <numeric>
#include <string>

namespace autopilot::jobs {
namespace {

using std::chrono::seconds;

constexpr WallTime kStart{seconds(1767225600)};

Communicator communicator(std::string id, std::vector<int> ranks, std::int64_t count) {
  Communicator made;
  made.id = std::move(id);
  made.size = static_cast<int>(ranks.size());
  made.started.assign(ranks.size(), count);
  made.ranks = std::move(ranks);
  return made;
}

std::vector<int> up_to(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

CollectivesRecord record_at(int second, std::vector<Communicator> communicators) {
  return {kStart + seconds(second), "job", CountSource::ras, std::move(communicators)};
}

// Feeds a communicator of 8 ranks every 15 s: 30 collectives more each time, until `hang`.
void run_job(CollectiveTracker& tracker, int hang, int end) {
  for (int t = 0; t <= end; t += 15)
    tracker.add(record_at(t, {communicator("world", up_to(8), 2 * std::min(t, hang))}));
}

TEST(Collectives, a_hang_with_equal_counts_is_seen) {
  CollectiveTracker tracker;
  run_job(tracker, 300, 300);
  EXPECT_EQ(tracker.status(kStart + seconds(300)).frozen, false);
  run_job(tracker, 300, 330);
  const CollectiveStatus status = tracker.status(kStart + seconds(330));
  EXPECT_EQ(status.frozen, true);
  EXPECT_EQ(status.last_advance, kStart + seconds(300));
  EXPECT_NEAR(*status.rate_per_s, 2, 0.1);
  EXPECT_EQ(tracker.blame(kStart + seconds(330)).reason, BlameReason::all_started);
}

TEST(Collectives, a_slow_pace_is_not_frozen_until_increments_are_due) {
  CollectiveTracker tracker;
  for (int t = 0; t <= 1200; t += 15)
    tracker.add(record_at(t, {communicator("w", up_to(4), t / 60)}));
  for (int t = 1215; t <= 1500; t += 15)
    tracker.add(record_at(t, {communicator("w", up_to(4), 20)}));
  EXPECT_NE(tracker.status(kStart + seconds(1500)).frozen, true);
  for (int t = 1515; t <= 2700; t += 15)
    tracker.add(record_at(t, {communicator("w", up_to(4), 20)}));
  EXPECT_EQ(tracker.status(kStart + seconds(2700)).frozen, true);
}

TEST(Collectives, a_quiet_time_that_recurs_is_not_frozen) {
  CollectiveTracker tracker;
  std::int64_t count = 0;
  int t = 0;
  const auto run_for = [&](int length, int pace) {
    for (const int end = t + length; t < end; t += 15) {
      count += pace;
      tracker.add(record_at(t, {communicator("w", up_to(4), count)}));
    }
  };
  for (int round = 0; round < 3; ++round) {
    run_for(600, 30);
    run_for(120, 0);
  }
  EXPECT_NE(tracker.status(kStart + seconds(t - 15)).frozen, true) << "as long as the checkpoints before";
  run_for(120, 0);
  EXPECT_EQ(tracker.status(kStart + seconds(t - 15)).frozen, true);
}

TEST(Collectives, a_communicator_that_grows_contradicts_a_frozen_one) {
  CollectiveTracker tracker;
  for (int t = 0; t <= 600; t += 15)
    tracker.add(
        record_at(t, {communicator("a", up_to(4), std::min(t, 300)), communicator("b", {4, 5, 6, 7}, t)}));
  EXPECT_EQ(tracker.status(kStart + seconds(600)).frozen, false);
}

TEST(Collectives, without_records_the_state_is_unknown) {
  CollectiveTracker tracker;
  EXPECT_EQ(tracker.status(kStart).frozen, std::nullopt);
  EXPECT_EQ(tracker.blame(kStart).reason, BlameReason::none);
  run_job(tracker, 300, 400);
  EXPECT_EQ(tracker.status(kStart + seconds(900)).frozen, std::nullopt) << "the source is silent";
  tracker.restart();
  EXPECT_EQ(tracker.status(kStart + seconds(400)).communicators, 0U);
}

TEST(Collectives, lists_that_contradict_each_other_are_left_out) {
  CollectiveTracker tracker;
  Communicator shorter = communicator("a", {0, 1, 2}, 5);
  shorter.started.pop_back();
  Communicator twice = communicator("b", {0, 1, 1}, 5);
  Communicator small = communicator("c", {0, 1, 2}, 5);
  small.size = 2;
  Communicator negative = communicator("d", {0, 1}, -5);
  Communicator ahead = communicator("e", {0, 1}, 5);
  ahead.completed = {6, 5};
  Communicator range = communicator("f", {0, 70000}, 5);
  Communicator unnamed = communicator("", {0, 1}, 5);
  tracker.add(record_at(0, {shorter, twice, small, negative, ahead, range, unnamed}));
  EXPECT_EQ(tracker.contradictions(), 7U);
  EXPECT_EQ(tracker.status(kStart).communicators, 0U);
}

TEST(Collectives, a_rank_that_starts_collectives_is_not_dead) {
  CollectiveTracker tracker;
  tracker.add(record_at(0, {communicator("w", up_to(4), 5)}));
  Communicator later = communicator("w", up_to(4), 9);
  later.dead = {2};
  later.missing = {3};
  tracker.add(record_at(15, {later}));
  const CollectiveStatus status = tracker.status(kStart + seconds(15));
  EXPECT_TRUE(status.dead.empty());
  EXPECT_TRUE(status.unresponsive.empty());
}

TEST(Collectives, counts_that_fall_begin_a_new_communicator) {
  CollectiveTracker tracker;
  run_job(tracker, 300, 400);
  tracker.add(record_at(415, {communicator("world", up_to(8), 3)}));
  EXPECT_EQ(tracker.status(kStart + seconds(415)).frozen, std::nullopt);
}

TEST(Collectives, memory_is_limited_for_a_large_job_that_restarts_every_minute) {
  CollectiveTracker tracker;
  for (int minute = 0; minute < 60; ++minute) {
    std::vector<Communicator> all{communicator("world" + std::to_string(minute), up_to(4096), minute)};
    for (int first = 0; first < 4096; first += 8) {
      std::vector<int> ranks(8);
      std::iota(ranks.begin(), ranks.end(), first);
      all.push_back(communicator(std::to_string(minute) + "/" + std::to_string(first), ranks, 1));
    }
    tracker.add(record_at(60 * minute, std::move(all)));
    EXPECT_LE(tracker.members(), 524288U);
    EXPECT_LE(tracker.status(kStart + seconds(60 * minute)).communicators, 12U * 513);
  }
}

TEST(Collectives, communicators_beyond_the_limits_are_dropped_and_counted) {
  CollectiveTracker tracker({.communicators = 4, .members = 20});
  for (int i = 0; i < 10; ++i)
    tracker.add(record_at(i, {communicator(std::to_string(i), up_to(4), 1)}));
  EXPECT_LE(tracker.status(kStart + seconds(9)).communicators, 4U);
  EXPECT_LE(tracker.members(), 20U);
  const auto before = tracker.dropped();
  EXPECT_GT(before, 0U);
  tracker.add(record_at(10, {communicator("large", up_to(21), 1)}));
  EXPECT_EQ(tracker.dropped(), before + 1);
}

TEST(Collectives, an_older_record_is_ignored) {
  CollectiveTracker tracker;
  run_job(tracker, 300, 330);
  tracker.add(record_at(200, {communicator("world", up_to(8), 900)}));
  EXPECT_EQ(tracker.status(kStart + seconds(330)).frozen, true);
}

}  // namespace
}  // namespace autopilot::jobs
