// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jobs/labels.hpp"
#include "jobs/scoring/run_log.hpp"

namespace autopilot::jobs {

// A finding whose probability follows from the evidence of its signals, and whether labels state that its
// culprit is right.
struct LabelledFinding {
  std::string id;
  std::string node;  // or leaf
  WallTime detected{};
  std::vector<std::string> signals;  // that counted, of the last report
  double probability = 0;
  bool is_right = false;
};

// Findings of any severity that accuse a part which slows its job or will; other findings have no signals
// whose weights could be learned. Right: a labelled fault is at that place from its onset until 5 minutes
// after its end. Findings outside the labelled time are left out. Pure; in the order of the log.
[[nodiscard]] std::vector<LabelledFinding> label_findings(const Labels& labels, const RunLog& run);

// The signals that counted for the probability of a finding: strongest first.
[[nodiscard]] std::vector<std::string> signals_of(const JobFinding& finding);
// The probability of the finding follows from its signals.
[[nodiscard]] bool has_weighed_signals(const JobFinding& finding);

}  // namespace autopilot::jobs
