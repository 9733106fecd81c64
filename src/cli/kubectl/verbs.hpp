// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

#include "cli/kubectl/cluster_options.hpp"

namespace autopilot::cli {

// The verbs of `kubectl autopilot` that read a cluster. `cluster` outlives `app`; options before the verb
// fill it too.
void add_cluster_nodes(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_cluster_status(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_cluster_test(CLI::App& app, ClusterOptions& cluster, int& exit_code);
void add_cluster_events(CLI::App& app, ClusterOptions& cluster, int& exit_code);

}  // namespace autopilot::cli
