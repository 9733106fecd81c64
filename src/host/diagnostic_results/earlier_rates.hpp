// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/observation.hpp"

namespace autopilot::host {

// The rates that the last tests measured of each card, which its UUID names in any slot, and of the host.
// What is usual is made of the best of them: a card that slows down from test to test does not become its own
// measure, and what was meant to cost speed (ECC, a limit of power) is usual some tests later.
class EarlierRates {
 public:
  static constexpr std::size_t kKept = 32;    // tests
  static constexpr std::size_t kBest = 5;     // of these
  static constexpr std::size_t kFewest = 3;   // fewer give no usual rate
  static constexpr std::size_t kMost = 1024;  // cards, each with each test and name; then all begins anew

  // Only what has a unit of rates, and is of a card or the host. gpus: which took part; what the host has
  // with others is another rate.
  void add(const std::string& check, const Observation& found, std::string_view gpus = {});
  // The median of the best ones.
  [[nodiscard]] std::optional<double> usual(const std::string& check, const Observation& found,
                                            std::string_view gpus = {}) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // check, card or GPUs of the host, name

  std::map<Key, std::deque<double>> last_;  // oldest first
};

}  // namespace autopilot::host
