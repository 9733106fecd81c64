// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "learning/records.hpp"

// Measurements that can be compared, of the histories of one node or of many.
namespace autopilot::learning {

// The measurements of one history.
struct MeasurementFile {
  std::string name;
  std::vector<Measurement> measurements;
};

struct UsableMeasurements {
  std::vector<Measurement> measurements;  // ordered by id, each id once
  WallTime newest{};                      // of the measurements; the epoch without one
  std::vector<std::string> notes;         // one sentence for each cause for which measurements are left out
};

// How far the clocks of machines can differ.
inline constexpr Duration kClockDifference = std::chrono::hours(1);

// Leaves out, with a note:
// - measurements after `now` + kClockDifference: the clock of their machine was wrong;
// - all of a node that two histories have under one name and no cluster, with different cards: two clusters
//   with the same names;
// - of a card that was measured on several nodes (it moved, or the node was renamed), all but those on its
//   last node.
// The order of files and records has no influence on the measurements.
[[nodiscard]] UsableMeasurements usable_measurements(std::vector<MeasurementFile> files, WallTime now);

}  // namespace autopilot::learning
