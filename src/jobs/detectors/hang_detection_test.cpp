// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "jobs/detectors/collectives.hpp"
#include "jobs/detectors/gaps.hpp"
#include "jobs/detectors/stall.hpp"

// Time-outs, counts and the state machine together, on a simulated day of a job.
namespace autopilot::jobs {
namespace {

constexpr double kDay = 86400;

struct Sources {
  bool has_ras = false;
  bool has_steps = true;
  bool has_phases = false;
  bool has_storage = true;
};

struct DayResult {
  int false_suspected = 0;
  int false_confirmed = 0;
  double suspected_s = -1, confirmed_s = -1;  // after the last step
};

// A job with steps of 4 s, a checkpoint of 90 s every 30 minutes and an evaluation of 200 s every 4 hours,
// that hangs half an hour before the end of the day. GPUs wait during a checkpoint and compute during an
// evaluation.
class SimulatedDay {
 public:
  SimulatedDay(Sources sources, unsigned seed) : sources_(sources), random_(seed) {}

  DayResult run() {
    for (double now = 10; now < kDay; now += 10) {
      make_steps(now);
      const StallStatus& status = stall_.add(signs_at(now));
      if (now <= kHang) {
        result_.false_suspected += status.suspected ? 1 : 0;
        result_.false_confirmed += status.confirmed ? 1 : 0;
      } else {
        if (status.suspected && result_.suspected_s < 0) result_.suspected_s = now - last_;
        if (status.confirmed && result_.confirmed_s < 0) result_.confirmed_s = now - last_;
      }
    }
    return result_;
  }

 private:
  static constexpr double kHang = kDay - 1800;

  void make_steps(double now) {
    while (next_ <= now && next_ < kHang) {
      if (steps_ > 0 && sources_.has_steps && !(sources_.has_phases && phase_ != Phase::train))
        add_gap(next_ - last_);
      last_ = next_;
      ++steps_;
      phase_ = Phase::train;
      double length = 4 * std::exp(0.05 * normal_(random_));
      if (last_ > checkpoint_) {
        phase_ = Phase::checkpoint;
        length += 90 * std::exp(0.15 * normal_(random_));
        checkpoint_ += 1800;
      } else if (last_ > evaluation_) {
        phase_ = Phase::evaluate;
        length += 200 * std::exp(0.1 * normal_(random_));
        evaluation_ += 4 * 3600;
      }
      next_ = last_ + length;
    }
  }

  void add_gap(double gap_s) {
    if (gap_s < 30 || !stall_.status().is_gap_explained) gaps_.add(gap_s);
  }

  StallSigns signs_at(double now) {
    const bool is_hung = now > kHang;
    const bool is_writing = !is_hung && phase_ == Phase::checkpoint;
    StallSigns signs;
    signs.now = time_at(now);
    signs.has_first_step = steps_ > 0;
    signs.since_start_s = now;
    signs.quiet_share = is_hung || is_writing ? 1 : 0.01;
    signs.fabric_bytes_s = is_hung || is_writing ? 1e3 : 2e11;
    if (sources_.has_storage) signs.storage_bytes_s = is_writing ? 5e9 : 1e7;
    if (sources_.has_phases && !is_hung) signs.phase = phase_;
    if (sources_.has_steps && steps_ > 0) signs.progress_age_s = now - last_;
    if (sources_.has_ras) read_ras(now, signs);
    signs.soft_timeout_s = gaps_.soft_timeout_s(sources_.has_phases || sources_.has_storage);
    return signs;
  }

  void read_ras(double now, StallSigns& signs) {
    Communicator world{"world", 4, {0, 1, 2, 3}, {}, {}, {}, {}};
    world.started.assign(4, 100 * steps_);
    tracker_.add({time_at(now), "job", CountSource::ras, {world}});
    const CollectiveStatus status = tracker_.status(time_at(now));
    signs.collectives_frozen = status.frozen;
    signs.ranks_unresponsive = 0;
    if (sources_.has_steps || !status.last_advance) return;
    const double advanced = to_seconds(*status.last_advance - time_at(0));
    if (advanced > advanced_ && advanced_ > 0) add_gap(advanced - advanced_);
    advanced_ = advanced;
    signs.progress_age_s = now - advanced;
  }

  static WallTime time_at(double seconds) {
    return WallTime{std::chrono::seconds(1767225600)} +
           std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }

  Sources sources_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_{0, 1};
  double last_ = 0, next_ = 120, checkpoint_ = 1800, evaluation_ = 4 * 3600, advanced_ = 0;
  std::int64_t steps_ = 0;
  Phase phase_ = Phase::train;
  StallDetector stall_;
  GapModel gaps_;
  CollectiveTracker tracker_;
  DayResult result_;
};

TEST(HangDetection, with_counts_of_collectives_a_hang_is_confirmed_within_three_minutes) {
  const DayResult day = SimulatedDay({.has_ras = true, .has_steps = false}, 1).run();
  EXPECT_EQ(day.false_confirmed, 0);
  EXPECT_GT(day.confirmed_s, 0);
  EXPECT_LE(day.confirmed_s, 180);
}

TEST(HangDetection, by_telemetry_alone_a_hang_is_confirmed_within_five_minutes) {
  const DayResult day = SimulatedDay({}, 2).run();
  EXPECT_EQ(day.false_suspected, 0);
  EXPECT_GT(day.suspected_s, 0);
  EXPECT_LE(day.suspected_s, 120);
  EXPECT_LE(day.confirmed_s, 300);
}

TEST(HangDetection, phases_that_are_reported_raise_no_suspicion) {
  const DayResult day = SimulatedDay({.has_phases = true, .has_storage = false}, 3).run();
  EXPECT_EQ(day.false_suspected, 0);
  EXPECT_LE(day.confirmed_s, 300);
}

TEST(HangDetection, checkpoints_that_nothing_shows_are_learned) {
  const DayResult day = SimulatedDay({.has_storage = false}, 4).run();
  EXPECT_EQ(day.false_confirmed, 0);
  EXPECT_GT(day.confirmed_s, 0);
  EXPECT_LE(day.confirmed_s, 480);
}

}  // namespace
}  // namespace autopilot::jobs
