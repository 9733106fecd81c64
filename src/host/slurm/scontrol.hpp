// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/process/child_runner.hpp"

// Slurm's program for administrators.
namespace autopilot::host {

// True for the name of one node. "n[1-3]" or "n1,n2" would name several nodes, and "ALL" every node.
[[nodiscard]] bool is_slurm_node(std::string_view name);

// "scontrol update NodeName=n1 State=DRAIN", for a message.
[[nodiscard]] std::string scontrol_text(const std::vector<std::string>& arguments);

// Runs scontrol and returns the first 16 KiB that it printed. No shell sees the arguments; of the environment
// it gets SLURM_CONF only. Blocks until its end, at most until the deadline and the grace of ChildRunner.
// timed_out: Slurm may still do what was asked for. unavailable: it cannot be started, or failed; the text
// names the command and what it printed.
[[nodiscard]] Result<std::string> run_scontrol(ChildRunner& runner, const std::string& scontrol,
                                               const std::vector<std::string>& arguments, MonoTime deadline,
                                               const std::stop_token& stop = {});

}  // namespace autopilot::host
