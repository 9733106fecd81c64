// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "checks/check.hpp"
#include "core/event.hpp"
#include "core/log_parts.hpp"
#include "core/observation.hpp"

namespace autopilot::runtime {

// How far one check has read the kernel log, and how many of its records were told as events.
class LogReader {
 public:
  static constexpr std::size_t kMaxToldPerMinute = 200;  // the rest is counted

  // Records below were journaled by an earlier run of this boot.
  void restore(std::uint64_t journaled) { journaled_ = journaled; }

  // Records that no earlier round and no earlier run of this boot has seen.
  [[nodiscard]] Observations news_in(const Observations& round) const;
  // Takes over where the round ended and gives its news to `tell`. True: journaled() has moved.
  bool take(const std::string& check, const checks::Observed& round, const Observations& news,
            const std::function<void(Event)>& tell);
  // A minute is over: what was counted and not told is told in one event.
  void end_minute(const std::string& check, const std::function<void(Event)>& tell);

  // Where the next round begins.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::uint64_t journaled() const { return journaled_; }
  // Since the start, as this check counts them.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // none until it has read the log.
  [[nodiscard]] LogParts parts() const { return parts_; }

 private:
  LogParts parts_ = LogParts::none;
  std::uint64_t next_ = 0;
  std::uint64_t journaled_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t told_ = 0;  // in this minute
  std::size_t untold_ = 0;
};

}  // namespace autopilot::runtime
