// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// The duration of a job's steps from the power of its GPUs, without a word from the job.
namespace autopilot::jobs {

struct Rhythm {
  double period_s = 0;
  double quality = 0;  // autocorrelation at the period, 0 to 1
};

// Period of a series with one value every `interval_s`, oldest first; NaN: missing. The series is the median
// over the job's nodes: a synchronous job is in phase on all of them. 300 values are enough; of more, the
// newest 600 count.
//
// nullopt if there are fewer than 60 values, if more than a third is missing, if the series is constant, if
// no period has a quality of 0.35, or if the period is shorter than 2 intervals, shorter than 0.5 s, longer
// than 120 s or longer than 2/5 of the series. A step of equal parts (gradient accumulation) may give the
// period of a part: use it for relative changes, and never as proof. Steps shorter than 2 intervals may give
// a false, longer period.
[[nodiscard]] std::optional<Rhythm> find_rhythm(std::span<const float> values, double interval_s = 1);

// Rhythm of one job over time: 1 Hz values in, a period out if it is stable.
class RhythmTracker {
 public:
  static constexpr std::size_t kValues = 300;
  static constexpr std::size_t kEvaluations = 3;
  static constexpr double kTolerance = 0.05;

  // The next value, one a second; NaN: missing.
  void add(float value);
  // Call it every 30 s or less often: neighbours share most of their values. The rhythm, if the newest
  // kEvaluations evaluations agree within kTolerance.
  std::optional<Rhythm> evaluate();
  // A phase with other work begins: what was measured does not count any more.
  void restart();

 private:
  std::vector<float> values_;  // ring
  std::size_t next_ = 0;
  std::array<std::optional<Rhythm>, kEvaluations> newest_{};
  std::size_t evaluations_ = 0;
};

}  // namespace autopilot::jobs
