// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/values/recall.hpp"

// Which diagnostics run on the nodes of a job before it starts.
namespace autopilot::learning {

// A class of faults: its share of all faults, and what one costs that happens during the job, in GPU-hours.
// For a fatal fault (half the checkpoint interval + detection + restart) * GPUs of the job; for a degradation
// its share of speed * remaining hours * GPUs.
struct FaultRisk {
  std::string fault_class;
  double share = 0;
  double loss_gpu_hours = 0;
};

struct Diagnostic {
  std::string check;
  double minutes = 0;          // on all nodes at once
  double false_positives = 0;  // probability to fail a healthy node
  bool is_quick = false;       // belongs to the quick set
};

struct SelectionInput {
  std::vector<double> hazards;  // of each node of the job: expected faults during the job
  std::vector<FaultRisk> risks;
  std::vector<Diagnostic> diagnostics;
  std::vector<Recall> recall;
  double gpus_of_node = 8;
  double false_positive_gpu_hours = 8;  // what a healthy node that fails costs
  std::optional<double>
      most_minutes;  // limit of the optional diagnostics and the quick set; the full set has none
};

// Why all diagnostics run, whatever they cost.
enum class FullReason : std::uint8_t { none, repair, driver_change, no_recent_full };

// What happened to a node since all diagnostics ran.
struct SinceFull {
  std::optional<Duration> age;  // nullopt: no full set is known
  bool is_repaired = false;
  bool has_new_driver = false;
};
inline constexpr Duration kMostAgeOfFull = std::chrono::days(30);

[[nodiscard]] FullReason full_reason(const SinceFull& since);
// "after a repair" ... ; empty for none.
[[nodiscard]] std::string_view to_sentence(FullReason reason);

struct Choice {
  std::string check;
  double minutes = 0;
  double value = 0;       // GPU-hours that it is expected to save, less its cost; of the floor: 0 or any sign
  bool is_floor = false;  // runs whatever its value
};

struct Selection {
  std::vector<Choice> choices;   // in the order in which they run
  std::vector<Choice> left_out;  // by name, with their value beside the choices; above 0: no time is left
  double minutes = 0;
  double escaped = 0;  // expected faults during the job that the choices do not find
};

inline constexpr std::size_t kMostDiagnostics = 256;

// The quick set first, or all diagnostics if `reason` is not none. Then, while its value is above 0 and it
// fits into most_minutes, the diagnostic with the highest value per minute:
//   sum over nodes i and classes c of p_ic * recall * loss_c - minutes / 60 * GPUs - false positives
// with p_ic = (1 - exp(-hazard_i)) * share_c; after each choice p_ic *= 1 - recall. Equal values: by name.
// `malformed`: a hazard, share, loss, duration or probability that is not finite or is negative, a diagnostic
// without a duration, two of one name. `exhausted`: more than kMostDiagnostics.
[[nodiscard]] Result<Selection> select_diagnostics(const SelectionInput& input, FullReason reason);

}  // namespace autopilot::learning
