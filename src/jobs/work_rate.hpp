// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "core/clock.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

struct JobContext;

// Whether a period that was read from power is that of the steps. A step has equal work, so that the period
// times the work in a second is constant, whatever slows the steps. With short steps, or steps of equal
// parts, a multiple or an alias of the period is found from time to time, and then it is not.
class WorkRate {
 public:
  // Other ranks, or a new program.
  void start();
  // The median of the job's GPUs or NICs in the minute that ends at `end`, logarithm; of the first source
  // that is known: bytes over NVLink, bytes of NICs, tensor activity.
  [[nodiscard]] static std::optional<double> of_minute(const JobContext& job, WallTime end);
  // The next minute. `log_period`: logarithm of the period in seconds; `log_rate`: of_minute(). False: the
  // period is not that of the steps. True if the rate is not known, or for too short a time.
  bool confirms(double log_period, std::optional<double> log_rate);

 private:
  static constexpr std::size_t kNewest = 5;       // minutes from which the period is
  static constexpr std::size_t kRemembered = 60;  // minutes
  static constexpr std::size_t kLeastKnown = 10;

  std::deque<double> rates_;    // the newest, as given
  std::deque<double> changes_;  // from one rate to the next: how far they vary
  std::deque<double> work_;     // of one step: period and rate of minutes that are confirmed
};

}  // namespace autopilot::jobs
