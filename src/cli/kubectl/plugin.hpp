// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/kubectl/cluster.hpp"

namespace autopilot::cli {

// Role of this program, from the name under which it was started: kubectl runs `kubectl-autopilot` for
// `kubectl autopilot`, and `kubectl_complete-autopilot` for its completions.
enum class Program : std::uint8_t { autopilot, kubectl_plugin, kubectl_completion };
[[nodiscard]] Program program_of(std::string_view started_as);

// Adds the verbs of `kubectl autopilot`, and the options allowed before a verb.
void add_kubectl_verbs(CLI::App& app, ClusterOptions& cluster, int& exit_code);

// Writes the completions of the last word, one per line, then the shell directive in kubectl's format.
void write_completions(std::ostream& out, const CLI::App& app, const std::vector<std::string>& words);

// The verbs of `kubectl autopilot` that read a cluster. `cluster` outlives `app`; options before the verb
// fill it too.
void add_cluster_nodes(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_cluster_status(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_cluster_test(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_cluster_events(CLI::App& app, ClusterOptions& cluster, int& exit_code);

}  // namespace autopilot::cli
