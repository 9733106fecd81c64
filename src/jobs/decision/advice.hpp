// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/findings.hpp"

// What a person can do about a finding.
namespace autopilot::jobs {

// "stop the job now and start it without the node"
[[nodiscard]] std::string_view advice_of(Choice choice);

// Where the commands are to run.
enum class CommandPlace : std::uint8_t { cluster, machine };

// Commands that exclude the culprit and test it, each one line for a shell. Empty: none helps, or the name of
// the node is not safe in a shell.
[[nodiscard]] std::vector<std::string> commands_of(const JobFinding& finding, CommandPlace place);

// The culprit is a part of one node.
[[nodiscard]] bool names_a_node(const Entity& culprit);

}  // namespace autopilot::jobs
