// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/process/child_runner.hpp"
#include "jobs/brain.hpp"

// Actions about jobs of Slurm, by scontrol, for an agent that coordinates the agents of its cluster.
namespace autopilot::agent {

// "slurm/1234", "slurm-1234", "1234", "1234_7" (a task of an array): the id for scontrol. nullopt: another
// text.
[[nodiscard]] std::optional<std::string> parse_slurm_job(std::string_view job);

struct SlurmCommand {
  std::vector<std::string> arguments;  // of scontrol; no shell sees them
  friend bool operator==(const SlurmCommand&, const SlurmCommand&) = default;
};

// The commands of the action, in order; the reason of a drain names the finding, so that an operator finds
// it. stop_now and restart_in_place requeue the job, the former after a drain of the accused node; a drained
// node keeps its running job, so swap_at_checkpoint only drains. denied: the finding rests on missing data;
// malformed: the job or the node has no name that Slurm accepts here; unsupported: nothing can be done. Pure.
[[nodiscard]] Result<std::vector<SlurmCommand>> slurm_commands(const jobs::WantedAction& action);

// Runs the commands one after the other; the first that fails ends it. scontrol: path of the program, which
// gets SLURM_CONF of this process. Blocks for at most kSlurmDeadline for each command. unavailable: it cannot
// be started, or failed; the text names the command and what it printed.
inline constexpr Duration kSlurmDeadline = std::chrono::seconds{30};
[[nodiscard]] Status run_slurm_commands(host::ChildRunner& runner, const Clock& clock,
                                        const std::string& scontrol,
                                        const std::vector<SlurmCommand>& commands,
                                        const std::stop_token& stop = {});

}  // namespace autopilot::agent
