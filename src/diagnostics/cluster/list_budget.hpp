// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>

#include "core/clock.hpp"

namespace autopilot::diagnostics {

// How many lists the tests of one agent ask the API server for, whoever of them asks: kMaxLists within
// kWindow. Together with those of the watches of the own Node object and of its pods, which begin anew at
// most once a minute each, they are six. Pure.
class ListBudget {
 public:
  static constexpr std::size_t kMaxLists = 4;
  // The minute is that of the server, which sees a list a little later than it was asked for.
  static constexpr Duration kWindow = std::chrono::seconds{61};

  // When so many, at most kMaxLists, may go: `now`, or later.
  [[nodiscard]] MonoTime next(std::size_t lists, MonoTime now) const;
  // So many go now.
  void take(std::size_t lists, MonoTime now);

 private:
  std::deque<MonoTime> gone_;  // at most kMaxLists
};

}  // namespace autopilot::diagnostics
