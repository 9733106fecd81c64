// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fleet/pair_tests/fabric.hpp"

namespace autopilot::fleet {

// What two NICs of one rail do: source sends to destination, and the other way round, one after the other.
struct PairTest {
  std::uint32_t id = 0;  // its place among the tests of the run
  RailNumber rail = 0;
  NodeNumber source = 0;
  NodeNumber destination = 0;
  // One sample each way for every one of them. Of one pair the same number is the same source port, so that a
  // fabric that picks the path by ports picks the same one; a number may come more than once.
  std::vector<std::uint16_t> flows;
  std::optional<double> most;  // bits/s that it may send; nothing: what it can
};

// Why nothing was measured.
enum class Missing : std::uint8_t {
  refused,    // one end may not now: busy, reserved, no right
  cancelled,  // a job began on one end
  timed_out,  // who runs the tests gave up
  no_answer,  // it was tried, and nothing came through between the two
};

[[nodiscard]] std::string_view to_string(Missing why);

struct PairResult {
  std::uint32_t id = 0;  // of the test
  // bits/s of the flows, in their order; fewer where it was cut short.
  std::vector<double> forward;          // source to destination
  std::vector<double> backward;         // destination to source
  std::optional<Missing> missing = {};  // then both are empty
};

}  // namespace autopilot::fleet
