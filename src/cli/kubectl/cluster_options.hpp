// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::cli {

// The cluster, with the names of kubectl's options.
struct ClusterOptions {
  std::string kubeconfig;  // empty: the files of KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: the current one
  Duration request_timeout = std::chrono::seconds{15};
};
void add_cluster_options(CLI::App& verb, ClusterOptions& options);

// The installation of Autopilot in the cluster.
struct InstallationOptions {
  std::string name_space = "autopilot";            // namespace of the reports
  std::string label_prefix = "autopilot.ibm.com";  // prefix of labels and annotations
};
void add_namespace_option(CLI::App& verb, std::string& name_space);
// --namespace and --label-prefix.
void add_installation_options(CLI::App& verb, InstallationOptions& options);

// True if the text is valid as an object name in a request path.
[[nodiscard]] bool is_object_name(std::string_view text);
// Argument NODE of a verb; a name that no node can have is a usage error.
CLI::Option* add_node_argument(CLI::App& verb, std::string& node, const std::string& description);

}  // namespace autopilot::cli
