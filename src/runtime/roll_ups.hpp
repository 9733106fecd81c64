// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/observation.hpp"
#include "store/journal.hpp"

namespace autopilot::runtime {

// Minimum, maximum, sum and count of every numeric series in the current hour. Plain data without clock or
// lock.
class RollUps {
 public:
  static constexpr std::size_t kMaxSeries = 8192;

  void add(const std::string& check, const Observations& round);
  // What lies in hours before the one of `now`; forgotten here.
  [[nodiscard]] std::vector<store::RollUp> take_finished(WallTime now);
  // Everything, at stop. The journal merges the halves of an hour.
  [[nodiscard]] std::vector<store::RollUp> take_all();

 private:
  using Key = std::tuple<WallTime, std::string, Subject, std::string>;
  std::map<Key, store::RollUp> open_;
};

}  // namespace autopilot::runtime
