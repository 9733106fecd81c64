// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/list_budget.hpp"

#include <algorithm>

namespace autopilot::diagnostics {

MonoTime ListBudget::next(std::size_t lists, MonoTime now) const {
  if (gone_.size() + lists <= kMaxLists) return now;
  // The latest list that must have left the window.
  return std::max(now, gone_.at(gone_.size() + lists - kMaxLists - 1) + kWindow);
}

void ListBudget::take(std::size_t lists, MonoTime now) {
  gone_.insert(gone_.end(), lists, now);
  while (gone_.size() > kMaxLists)
    gone_.pop_front();
}

}  // namespace autopilot::diagnostics
