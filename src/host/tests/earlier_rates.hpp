// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/observation.hpp"

namespace autopilot::host {

// The best rates that earlier tests measured of each card, which its UUID names in any slot: a card that
// slows down from test to test does not become its own measure.
class EarlierRates {
 public:
  static constexpr std::size_t kKept = 5;    // the best ones of each test and name
  static constexpr std::size_t kFewest = 3;  // fewer tell nothing of what is usual
  static constexpr std::size_t kMost =
      4'096;  // cards, each with each test and name; further ones are not kept

  // Only what has a unit of rates and a card.
  void add(const std::string& check, const Observation& found);
  // The median of the best ones that were added.
  [[nodiscard]] std::optional<double> usual(const std::string& check, const Observation& found) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // check, card, name

  std::map<Key, std::vector<double>> best_;  // highest first
};

}  // namespace autopilot::host
