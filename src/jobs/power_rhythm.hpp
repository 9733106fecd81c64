// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "jobs/detectors/rhythm.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

// The multiple or part of a period that is nearest to the usual one: the period of a power signal may be that
// of two steps, or of half a step.
[[nodiscard]] double fold_period(double period_s, double usual_s);

// The rhythm of one job's steps from the power of its nodes: their values of each second are pooled by the
// median.
class PowerRhythm {
 public:
  void start();
  // Mean power of GPUs of one node. `time`: the end of the last second.
  void add(WallTime time, const FastPower& power);
  // Once a minute, before which the seconds until `until` are complete.
  [[nodiscard]] std::optional<Rhythm> evaluate(WallTime until);

 private:
  static constexpr std::size_t kSeconds = 128;   // of which values are pooled
  static constexpr std::size_t kMaxNodes = 512;  // of one second; more add nothing to a median

  struct Second {
    std::int64_t number = -1;
    std::vector<float> values;
  };
  std::array<Second, kSeconds> seconds_;
  std::optional<std::int64_t> next_;  // the next second that the tracker gets
  RhythmTracker tracker_;
};

}  // namespace autopilot::jobs
