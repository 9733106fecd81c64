// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::nettest {

// Of tests of pairs that this agent makes, as it is configured.
struct PairChoice {
  static constexpr int kAllOfLine = 100;  // percent

  int most_percent = kAllOfLine;  // of the rate of a line; below all, one of an unknown rate is not tested
  bool all_pairs = false;         // else as many as show who is slow
  std::uint64_t turn = 0;  // each tests other pairs, so that the tests of a day come by more of the ways
};

}  // namespace autopilot::nettest
