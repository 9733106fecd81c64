// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "core/clock.hpp"

// Whether a job got slower than it was: a change of level, minute by minute.
namespace autopilot::jobs {

// One minute of a job.
struct MinuteOfSteps {
  WallTime time{};
  // Natural logarithm of the median step time, or minus that of a rate. Not finite: unknown.
  double log_time = 0;
  std::optional<double> log_work;  // logarithm of the tokens of a step, if they are known
  // The first 20 steps after a start, and known long gaps such as checkpoints: not used.
  bool is_left_out = false;
};

struct RegressionOptions {
  bool uses_whitening = true;
  double k = 0.5;  // reference 2a.4: one false alarm a week for 50 jobs
  double h = 12;
  double least_change = 0.05;  // of the step time: smaller changes are not reported
  double early_change = 0.15;  // while the baseline is not complete
  Duration least_length = std::chrono::minutes(5);
};

// A job got slower.
struct RegressionFinding {
  WallTime onset{};  // estimated time of the change
  WallTime detected{};
  WallTime updated{};       // time of the newest value
  double before_s = 0;      // median step time; of logarithms of rates: seconds for one unit
  double after_s = 0;       // of the newest minutes
  double goodput_loss = 0;  // g = 1 - before / after, 0 to 1. JobFinding::slowdown is after / before - 1
  double confidence = 0;    // that the step time is longer by at least half of least_change, 0 to 0.99
  bool is_early = false;    // found before the baseline was complete
};

// Detector of one job; feed it once a minute, in order of time.
//
// From 15 values on, a change of early_change is found by comparing each part of the values with the rest; a
// change of a half also if it came after fewer than ten values.
// From 60 values on, a one-sided CUSUM of whitened values (lag 1) runs against the median of the values so
// far: it alarms at h. The alarm is reported if the change has lasted least_length and the medians before and
// after it differ by 0.8 of least_change, after 5 values with three standard errors to spare, after 10 values
// without. Values of a possible change are not learned until the CUSUM has returned to 0, or 120 values
// later: a change that small is the new level. A job that is faster for an hour has a new baseline.
class RegressionDetector {
 public:
  static constexpr std::size_t kBaseline = 60;
  static constexpr std::size_t kMaxValues = 240;
  static constexpr std::size_t kEarly = 15;

  explicit RegressionDetector(RegressionOptions options = {}) : options_(options) {}

  void add(const MinuteOfSteps& minute);
  // The job began anew: the minutes in which it came to its end show no change of its pace. What is present
  // remains, and so does the baseline.
  void interrupt();

  // The present regression; kept up to date until it ends.
  [[nodiscard]] const std::optional<RegressionFinding>& present() const { return present_; }
  // When the newest regression that is over ended: half of the change, or more, is gone for 5 values.
  [[nodiscard]] std::optional<WallTime> ended() const { return ended_; }
  [[nodiscard]] bool has_baseline() const { return is_ready_; }
  // Median step time of the baseline in seconds.
  [[nodiscard]] std::optional<double> baseline_s() const;
  [[nodiscard]] double cusum() const { return cusum_; }
  // Values that are held: at most kMaxHeld.
  [[nodiscard]] std::size_t held() const { return clean_.size() + pending_.size() + recent_.size(); }
  static constexpr std::size_t kMaxHeld = 370;

 private:
  struct Point {
    WallTime time{};
    double value = 0;
    double work = 0;  // NaN: unknown
  };
  struct Model {  // of values without a change
    double level = 0;
    double sigma = 0;        // of values
    double rho = 0;          // correlation of neighbours
    double sigma_white = 0;  // of what the neighbour does not predict
  };
  struct Split {
    std::size_t first_after = 0;
    double before = 0, after = 0;
    double score = 0;  // difference in standard errors
  };

  [[nodiscard]] bool adjust(Point& point) const;
  void collect(const Point& point);
  void fit_work();
  void fit();
  void learn(const Point& point);
  [[nodiscard]] double median_of_newest() const;
  void learn_pending();
  [[nodiscard]] std::optional<Split> best_split(double least_change) const;
  void watch(const Point& point);
  void verify(WallTime now);
  void follow(const Point& point);
  void raise(RegressionFinding finding, std::vector<double> after);
  [[nodiscard]] double standardised(const Point& point) const;
  [[nodiscard]] double error_of(std::size_t count) const;

  RegressionOptions options_;
  std::deque<Point> clean_;      // without a change, oldest first
  std::deque<Point> pending_;    // since the CUSUM left 0
  std::optional<double> slope_;  // of log time by log work
  double usual_work_ = 0;
  Model model_;
  bool is_ready_ = false;
  std::size_t learned_ = 0;  // values of the baseline, those no longer held included
  std::optional<Point> last_;
  double cusum_ = 0;
  std::optional<RegressionFinding> present_;
  double before_ = 0, largest_ = 0;  // logarithms: level before the present regression, largest change
  std::deque<double> recent_;        // values of the present regression
  std::optional<WallTime> ended_;
};

}  // namespace autopilot::jobs
