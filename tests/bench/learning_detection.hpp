// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace autopilot::learning::bench {

struct Seeds {
  std::uint64_t first = 1, last = 10;
};

// Held-out nodes of which one in ten is degraded, judged by a rule that was learned from a fleet with faulty
// nodes among it.
struct Detection {
  std::string_view rule;
  double magnitude = 0;
  double contamination = 0;
  std::size_t refused = 0;  // fleets without a baseline: their nodes are not judged, so each fault is missed
  std::size_t fleets = 0;
  std::size_t bad = 0, found = 0, healthy = 0, wrong = 0;
  double auc = 0;  // over all metrics and seeds, with one threshold for all; refused fleets do not count
  // Of F1 minus that of `baseline`, each seed as often as a bootstrap draws it: 2.5 and 97.5 %.
  double gain_low = 0, gain_high = 0;

  [[nodiscard]] double precision() const;
  [[nodiscard]] double recall() const;
  [[nodiscard]] double f1() const;
};
[[nodiscard]] std::vector<Detection> run_detection(const Seeds& seeds);

// Half of the fleet has firmware that is 4 % slower; all nodes are healthy and judged by the baseline learned
// from them.
struct Shift {
  std::string_view rule;
  double spread = 0;  // of the nodes, beside the shift; standard deviation
  std::size_t fleets = 0, refused = 0, nodes = 0, failed = 0;
  double worst = 0;  // failed share of the worst fleet
};
[[nodiscard]] std::vector<Shift> run_shift(const Seeds& seeds);

// Fleets with 40 % faulty nodes.
struct Breakdown {
  double magnitude = 0;
  std::size_t fleets = 0, refused = 0;
  std::size_t wrong = 0;  // published, and the median is nearer to the faulty nodes than to the healthy ones
};
[[nodiscard]] std::vector<Breakdown> run_breakdown(const Seeds& seeds);

}  // namespace autopilot::learning::bench
