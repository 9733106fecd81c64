// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/hazard/hazard_model.hpp"
#include "learning/records.hpp"
#include "learning/selector/selector.hpp"

// Which diagnostics the pre-flight gate of one node runs before a pod, from the history of the node. Pure.
namespace autopilot::learning {

// What history has about one node, in any order.
struct NodePast {
  std::vector<Fault> faults;
  std::vector<Label> labels;
  std::vector<Validation> validations;
  std::vector<Repair> repairs;
  std::vector<Versions> versions;
};

struct GateDiagnostic {
  std::string check;
  Duration time{};          // that it takes; greater than 0
  bool is_quick = false;    // runs before each pod
  bool is_of_host = false;  // the same, and it has no pass record
  bool is_proven = false;   // a pass record counts: it does not run again, unless it is older than a repair
  // The oldest of the last passes of the GPUs; nullopt: one of them has not passed.
  std::optional<WallTime> passed;
};

struct GateJob {
  double gpus = 0;                   // of the whole job, as far as the pod states it
  double gpus_of_node = 0;           // that the diagnostics occupy
  std::optional<Duration> run_time;  // nullopt: kUsualRunTime
};
inline constexpr Duration kUsualRunTime = std::chrono::hours{24};

struct GateInput {
  NodePast past;
  std::vector<GateDiagnostic> diagnostics;  // in the order of the operator
  GateJob job;
  Duration limit{};  // of all diagnostics together, but the full set has none
  WallTime now{};
};

struct LeftOut {
  std::string check;
  std::string why;  // one sentence, without the check
};

struct GateSelection {
  std::vector<std::string> checks;  // that must pass, in the order of the operator
  std::vector<LeftOut> left_out;    // in the same order
  FullReason full = FullReason::none;
  std::string reason;  // one sentence: why these
  // A pass before it proves nothing: a repair ended then, or the driver changed.
  std::optional<WallTime> proofs_since;
};

// Fitted on days 0 to 87 of the StepFun trace (docs/learning.md): for a node whose history is too short for a
// fit of its own.
[[nodiscard]] HazardModel prior_hazard();

// All diagnostics, if one of them has not passed on all GPUs since the last repair of the node (or the end of
// a hardware fault of it that was `failed`), since the last change of driver or firmware, or within
// kMostAgeOfFull; else the quick set and what select_diagnostics adds. Without a quick diagnostic the first
// one is the quick set. Records about other nodes must not be in the input; records after `now` are ignored.
// The order of records has no influence.
// malformed, exhausted: those of select_diagnostics and make_fleet_history.
[[nodiscard]] Result<GateSelection> choose_for_gate(const GateInput& input);

}  // namespace autopilot::learning
