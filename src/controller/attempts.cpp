// SPDX-License-Identifier: Apache-2.0
#include "controller/attempts.hpp"

#include <algorithm>

namespace autopilot::controller {

bool Attempts::may_try(std::string_view what, MonoTime now) const {
  const auto found = attempts_.find(what);
  return found == attempts_.end() || found->second.until <= now;
}

void Attempts::failed(const std::string& what, MonoTime now, std::optional<Duration> retry_after) {
  if (attempts_.size() >= kMost && !attempts_.contains(what))
    attempts_.erase(
        std::ranges::min_element(attempts_, {}, [](const auto& attempt) { return attempt.second.until; }));
  Attempt& attempt = attempts_[what];
  attempt.until = now + attempt.back_off.fail(kTimes, dice_(), retry_after);
}

bool Attempts::succeeded(std::string_view what) {
  const auto found = attempts_.find(what);
  if (found == attempts_.end()) return false;
  attempts_.erase(found);
  return true;
}

std::optional<MonoTime> Attempts::next(MonoTime now) const {
  std::optional<MonoTime> next;
  for (const auto& attempt : attempts_)
    if (const MonoTime until = attempt.second.until; until > now)
      next = std::min(next.value_or(until), until);
  return next;
}

}  // namespace autopilot::controller
