// SPDX-License-Identifier: Apache-2.0
#include "jobs/progress.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace autopilot::jobs::progress_test {
namespace {

constexpr WallTime kStart{std::chrono::hours(500000)};

WallTime at(double seconds) {
  return kStart + std::chrono::milliseconds(std::llround(seconds * 1000));
}

StepRecord step(double seconds, std::int64_t number) {
  StepRecord record;
  record.time = at(seconds);
  record.step = number;
  return record;
}

PhaseRecord phase(double seconds, Phase which, Edge edge) {
  PhaseRecord record;
  record.time = at(seconds);
  record.phase = which;
  record.edge = edge;
  return record;
}

Progress warm() {
  Progress progress;
  progress.start(JobRecord{.time = kStart});
  for (int number = 0; number <= 30; ++number)
    progress.add(step(3 * number, number));
  (void)progress.take_minute();
  (void)progress.take_gaps();
  return progress;
}

TEST(Progress, step_times_come_from_the_times_of_steps_if_they_are_not_stated) {
  Progress progress = warm();
  progress.add(step(93, 31));
  progress.add(step(103, 33));
  EXPECT_DOUBLE_EQ(progress.take_minute().step_s.value(), 5.0);
  EXPECT_EQ(progress.last_advance(), at(103));
}

TEST(Progress, the_first_steps_are_no_measure) {
  Progress progress;
  progress.start(JobRecord{.time = kStart});
  for (int number = 0; number < 20; ++number)
    progress.add(step(3 * number, number));
  EXPECT_FALSE(progress.take_minute().step_s.has_value());
}

TEST(Progress, a_repeated_step_and_a_step_of_another_rank_are_not_progress) {
  Progress progress = warm();
  progress.add(step(120, 30));
  EXPECT_EQ(progress.last_advance(), at(90));
}

TEST(Progress, a_heartbeat_or_a_phase_is_not_progress) {
  Progress progress = warm();
  progress.add(phase(100, Phase::checkpoint, Edge::begin));
  progress.add(phase(130, Phase::checkpoint, Edge::end));
  EXPECT_EQ(progress.last_advance(), at(90));
}

TEST(Progress, checkpoints_teach_their_interval_and_cost) {
  Progress progress = warm();
  for (int number = 1; number <= 3; ++number) {
    progress.add(phase(600 * number, Phase::checkpoint, Edge::begin));
    EXPECT_EQ(progress.phase(), Phase::checkpoint);
    progress.add(phase(600 * number + 40, Phase::checkpoint, Edge::end));
  }
  EXPECT_DOUBLE_EQ(progress.checkpoint_cost_s().value(), 40);
  EXPECT_DOUBLE_EQ(progress.checkpoint_interval_s().value(), 600);
  EXPECT_EQ(progress.last_checkpoint(), at(1840));
  EXPECT_EQ(progress.phase(), Phase::train);
}

TEST(Progress, a_checkpoint_of_many_ranks_ends_with_the_last_of_them) {
  Progress progress = warm();
  for (int rank = 0; rank < 4; ++rank)
    progress.add(phase(100 + rank, Phase::checkpoint, Edge::begin));
  for (int rank = 0; rank < 4; ++rank)
    progress.add(phase(120 + rank, Phase::checkpoint, Edge::end));
  EXPECT_EQ(progress.last_checkpoint(), at(123));
  EXPECT_DOUBLE_EQ(progress.checkpoint_cost_s().value(), 23);
}

TEST(Progress, a_checkpoint_in_the_logs_of_all_ranks_is_one_checkpoint) {
  Progress progress = warm();
  for (int number = 1; number <= 4; ++number)
    for (int i = 0; i < 4; ++i) {
      PhaseRecord end = phase(600 * number + 2 * i, Phase::checkpoint, Edge::end);
      end.rank = (number + i) % 4;  // another rank is the first each time
      progress.add(end);
    }
  EXPECT_DOUBLE_EQ(progress.checkpoint_interval_s().value(), 600);
  EXPECT_EQ(progress.last_checkpoint(), at(2406)) << "the last rank ends it";
}

TEST(Progress, checkpoints_that_follow_each_other_at_once_are_counted_by_their_first_rank) {
  Progress progress = warm();
  for (int number = 1; number <= 4; ++number)
    for (int rank = 0; rank < 4; ++rank) {
      PhaseRecord end = phase(60 * number + 2 * rank, Phase::checkpoint, Edge::end);
      end.rank = rank;
      progress.add(end);
    }
  EXPECT_DOUBLE_EQ(progress.checkpoint_interval_s().value(), 60);
}

TEST(Progress, a_gap_carries_its_phase) {
  Progress progress = warm();
  progress.add(phase(92, Phase::checkpoint, Edge::begin));
  progress.add(phase(137, Phase::checkpoint, Edge::end));
  progress.add(step(140, 31));
  progress.add(step(143, 32));
  const auto gaps = progress.take_gaps();
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].phase, Phase::checkpoint);
  EXPECT_DOUBLE_EQ(gaps[0].seconds, 50);
  EXPECT_EQ(gaps[1].phase, Phase::train);
}

TEST(Progress, an_idle_server_is_not_stalled_and_a_busy_one_without_tokens_is) {
  Progress progress;
  progress.start(JobRecord{.time = kStart});
  progress.add(ServingRecord{.time = at(10), .running = 2, .tokens_s = 50});
  progress.add(ServingRecord{.time = at(20)});
  progress.add(ServingRecord{.time = at(30), .running = 2, .waiting = 9, .tokens_s = 0});
  EXPECT_EQ(progress.last_advance(), at(20));
}

TEST(Progress, collectives_count_only_without_a_better_source) {
  Progress progress;
  progress.start(JobRecord{.time = kStart});
  progress.add_collectives(at(10));
  EXPECT_EQ(progress.source(), ProgressSource::collectives);
  progress.add(step(20, 1));
  progress.add_collectives(at(30));
  EXPECT_EQ(progress.source(), ProgressSource::steps);
  EXPECT_EQ(progress.last_advance(), at(20));
}

TEST(Progress, a_loss_that_is_not_a_number_is_kept_until_a_number_follows) {
  Progress progress = warm();
  StepRecord bad = step(93, 31);
  bad.loss = std::nan("");
  progress.add(bad);
  EXPECT_EQ(progress.loss_is_nan(), at(93));
  StepRecord good = step(96, 32);
  good.loss = 2.5;
  progress.add(good);
  EXPECT_FALSE(progress.loss_is_nan().has_value());
}

TEST(Progress, a_restart_begins_anew_and_keeps_what_was_learned_of_checkpoints) {
  Progress progress = warm();
  progress.add(phase(600, Phase::checkpoint, Edge::begin));
  progress.add(phase(640, Phase::checkpoint, Edge::end));
  progress.start(JobRecord{.time = at(700), .attempt = 2});
  EXPECT_FALSE(progress.last_advance().has_value());
  EXPECT_FALSE(progress.is_warm());
  EXPECT_DOUBLE_EQ(progress.checkpoint_cost_s().value(), 40);
}

}  // namespace
}  // namespace autopilot::jobs::progress_test
