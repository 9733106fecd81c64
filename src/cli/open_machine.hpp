// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "agent/agent.hpp"
#include "checks/custom/custom_checks.hpp"
#include "config/config.hpp"
#include "core/log_parts.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// The machine of a verb: the running one, unless a tree or a scenario is named.
struct MachineChoice {
  std::string root;      // a machine tree
  std::string simulate;  // a built-in machine, a scenario file or a tree with a timeline

  [[nodiscard]] bool is_this_machine() const { return root.empty() && simulate.empty(); }
};

// at_end: the scenario's timeline has run to its end, for one run of the checks. live: it runs in real time
// and faults can be injected.
enum class Timeline : unsigned char { at_end, live };

// Notification of new kernel log records.
struct KernelNews {
  OnKernelNews tell = [](LogParts) {};
  std::shared_ptr<const checks::OperatorRules> operator_rules = nullptr;  // notify for their lines too
};

// True for --root with a tree that was recorded from a real machine (machine.yaml: simulated: false). It is
// not simulated, yet nothing can act on it: see agent::Machine::simulated, which is true for every tree.
[[nodiscard]] bool is_recording(const MachineChoice& choice);
// "RECORDED from a real machine: DIR", a line; empty for every other machine.
[[nodiscard]] std::string recorded_line(const MachineChoice& choice);

// Opens the machine with everything that the agent and single runs need. Resources of a simulated machine
// (its player process, its folder) end with the last copy of the result.
[[nodiscard]] Result<agent::Machine> open_machine(const MachineChoice& choice, const config::Config& config,
                                                  Timeline timeline, const KernelNews& kernel_news);

}  // namespace autopilot::cli
