// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// A node as Slurm sees it. Pure.
namespace autopilot::cli {

// Reasons of drains that these verbs set, and that they alone end, begin so.
inline constexpr std::string_view kOwnDrain = "autopilot:";

struct SlurmNode {
  std::string name;
  std::vector<std::string> states;  // "IDLE", "DRAIN", "DOWN" ...; marks of Slurm such as "*" as states
  std::string reason;               // without its author and time; empty: none

  [[nodiscard]] bool is_in(std::string_view state) const;
  // Gets no new job: DRAIN, DOWN, FAIL, FAILING, or a state of a reboot or of power saving.
  [[nodiscard]] bool is_unavailable() const;
  // Drained, and besides only at work, of a lasting kind such as CLOUD, or kept for jobs. False in a state
  // that a resume would end or that must end first, such as DOWN or a requested reboot, and in any unknown
  // state.
  [[nodiscard]] bool is_only_drained() const;
  [[nodiscard]] bool has_own_reason() const { return reason.starts_with(kOwnDrain); }
};

// Parses what `scontrol show node NAME` prints. Of a reason with several lines the first counts. malformed:
// it is not about one node of that name, or states no state.
[[nodiscard]] Result<SlurmNode> parse_slurm_node(std::string_view text, std::string_view name);

}  // namespace autopilot::cli
