// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/kubectl/cluster_options.hpp"

namespace autopilot::cli {

// What this program is, by the name under which it was started: kubectl runs `kubectl-autopilot` for `kubectl
// autopilot`, and `kubectl_complete-autopilot` for what may stand behind that.
enum class Program : std::uint8_t { autopilot, kubectl_plugin, kubectl_completion };
[[nodiscard]] Program program_of(std::string_view started_as);

// The verbs of `kubectl autopilot`, and the options that may stand in front of them.
void add_kubectl_verbs(CLI::App& app, ClusterOptions& cluster, int& exit_code);

// What may stand in place of the last of these words, one in a line, and behind it how the shell is to take
// them, as kubectl reads it.
void write_completions(std::ostream& out, const CLI::App& app, const std::vector<std::string>& words);

}  // namespace autopilot::cli
