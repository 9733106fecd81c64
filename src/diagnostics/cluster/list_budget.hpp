// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>

#include "core/clock.hpp"

namespace autopilot::diagnostics {

// Limit on list requests to the API server, for all diagnostics of one agent together: kMaxLists within
// kWindow. The watches of the own Node object and of its pods add at most one list a minute each, six in
// total. Pure.
class ListBudget {
 public:
  static constexpr std::size_t kMaxLists = 4;
  // One minute of the server, which receives a list request a little after it is sent.
  static constexpr Duration kWindow = std::chrono::seconds{61};

  // Earliest time for this number of lists (at most kMaxLists): `now`, or later.
  [[nodiscard]] MonoTime next(std::size_t lists, MonoTime now) const;
  // Counts this number of lists as sent at `now`.
  void take(std::size_t lists, MonoTime now);

 private:
  std::deque<MonoTime> gone_;  // at most kMaxLists
};

}  // namespace autopilot::diagnostics
