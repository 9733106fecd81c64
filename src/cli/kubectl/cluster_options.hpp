// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::cli {

// Which cluster is asked, in the words of kubectl.
struct ClusterOptions {
  std::string kubeconfig;  // empty: those of KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: the current one
  Duration request_timeout = std::chrono::seconds{15};
};
void add_cluster_options(CLI::App& verb, ClusterOptions& options);

// What of the cluster belongs to Autopilot.
struct InstallationOptions {
  std::string name_space = "autopilot";            // of the reports
  std::string label_prefix = "autopilot.ibm.com";  // of labels and annotations
};
void add_namespace_option(CLI::App& verb, std::string& name_space);
// That and --label-prefix.
void add_installation_options(CLI::App& verb, InstallationOptions& options);

// Whether an object may have that name: it stands in a path.
[[nodiscard]] bool is_object_name(std::string_view text);
// NODE of a verb; anything that no node can be called is an error of usage.
CLI::Option* add_node_argument(CLI::App& verb, std::string& node, const std::string& description);

}  // namespace autopilot::cli
