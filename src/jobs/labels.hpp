// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/findings.hpp"

namespace autopilot::jobs {

// What was really wrong: labels.jsonl of docs/reference/job-telemetry.md. The engine never reads it.
struct FaultLabel {
  std::string id;
  std::string fault_class;
  WallTime onset{};
  WallTime end{};
  Effect effect = Effect::none;
  std::string job, node, nic, leaf;  // empty: not stated
  std::optional<int> gpu, rank;
  std::optional<double> magnitude;
  bool is_localisable = true;
};

struct ConfounderLabel {
  std::string confounder_class;
  WallTime begin{};
  WallTime end{};
  std::string job, node;
};

struct Labels {
  std::vector<FaultLabel> faults;
  std::vector<ConfounderLabel> confounders;
  std::optional<WallTime> begin, end;  // the labelled time; not set: from the first to the last record
};

}  // namespace autopilot::jobs
