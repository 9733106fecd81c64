// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
  enum class Source : std::uint8_t { nvlink, nics, tensor };
  struct Rate {
    Source source{};
    double log_rate = 0;
  };
  // The median of the job's GPUs or NICs in the minute that ends at `end`, of the first source that is known:
  // bytes over NVLink, bytes of NICs, tensor activity.
  [[nodiscard]] static std::optional<Rate> of_minute(const JobContext& job, WallTime end);
  // The next minute. `log_period`: logarithm of the period in seconds; `rate`: of_minute(), compared with
  // rates of the same source. False: the period is not that of the steps. True if the rate is not known, or
  // for too short a time.
  bool confirms(double log_period, const std::optional<Rate>& rate);
  // The last confirms() took over another amount of work, which lasts for an hour: the steps have changed,
  // and earlier periods are not comparable.
  [[nodiscard]] bool has_begun_anew() const { return has_begun_anew_; }

 private:
  static constexpr std::size_t kNewest = 5;       // minutes from which the period is
  static constexpr std::size_t kRemembered = 60;  // minutes
  static constexpr std::size_t kLeastKnown = 10;
  static constexpr std::size_t kLasting = 60;  // minutes in a row

  // Of one source.
  struct Memory {
    std::deque<double> rates;    // the newest, as given
    std::deque<double> changes;  // from one rate to the next: how far they vary
    std::deque<double> work;     // of one step: period and rate of minutes that are confirmed
    std::deque<double> refuted;  // equal work of the last minutes, none of them confirmed
  };
  static bool lasts(Memory& memory, double work, double tolerance);
  void begin_anew(Source source);

  std::array<Memory, 3> memories_;  // by Source
  bool has_begun_anew_ = false;
};

}  // namespace autopilot::jobs
