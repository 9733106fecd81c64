// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/observation.hpp"
#include "core/series.hpp"
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
  struct Numbers {
    double min = 0;
    double max = 0;
    double sum = 0;
    std::uint64_t count = 0;
  };
  using OfCheck = std::map<SeriesKey, Numbers, SeriesOrder>;
  using OfHour = std::map<std::string, OfCheck, std::less<>>;

  Numbers* numbers_of(OfCheck& series, const Observation& observation, double number);
  void note_card(const Subject& subject);
  [[nodiscard]] Subject subject_of(const SeriesKey& key) const;
  void move_to(std::vector<store::RollUp>& taken, WallTime hour, const OfHour& checks) const;

  std::map<WallTime, OfHour> open_;
  std::set<Subject> cards_;  // once for all their series: what follows the card to another slot
  std::size_t series_ = 0;
};

}  // namespace autopilot::runtime
