// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nettest/plan/fabric.hpp"

namespace autopilot::nettest {

// A test of two NICs of one rail: source sends to destination, then destination to source.
struct PairTest {
  std::uint32_t id = 0;  // index among the tests of the run
  RailNumber rail = 0;
  NodeNumber source = 0;
  NodeNumber destination = 0;
  // One sample in each direction for each flow number. For one pair, equal numbers use equal source ports, so
  // that a fabric that selects the path by ports selects the same path. A number can occur more than once.
  std::vector<std::uint16_t> flows;
  std::optional<double> most;  // limit in bits/s; not set: unlimited
};

// Why a test has no result.
enum class Missing : std::uint8_t {
  refused,    // one node refused: busy, reserved, or missing permission
  cancelled,  // a job started on one node
  timed_out,  // the caller gave up
  no_answer,  // the test ran, but no data arrived
};

[[nodiscard]] std::string_view to_string(Missing why);

struct PairResult {
  std::uint32_t id = 0;  // id of the test
  // bits/s of the flows, in their order; fewer if the test ended early.
  std::vector<double> forward;          // source to destination
  std::vector<double> backward;         // destination to source
  std::optional<Missing> missing = {};  // if set, both lists are empty
};

}  // namespace autopilot::nettest
