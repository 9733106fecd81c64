// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/cli.hpp"
#include "cli/kubectl/node_details.hpp"
#include "cli/kubectl/node_table.hpp"
#include "cli/kubectl/read_nodes.hpp"
#include "cli/kubectl/verbs.hpp"
#include "cli/output/exit_code.hpp"
#include "cli/output/format.hpp"
#include "cli/output/terminal.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

struct StatusOptions {
  std::string node;
  InstallationOptions installation;
  OutputFormat format = OutputFormat::table;
};

int show_cluster(ClusterReader& cluster, const StatusOptions& options, WallTime now) {
  const auto nodes = read_nodes(cluster, options.installation, now);
  if (!nodes) return report(nodes.error());
  tell_missing(*nodes, options.installation);
  if (options.format == OutputFormat::table)
    std::cout << render_cluster(nodes->views, now, terminal_style());
  else
    print_json(cluster_json(nodes->views, now), options.format);
  return exit_code_of(health_of(nodes->views));
}

int show_node(ClusterReader& cluster, const StatusOptions& options, WallTime now) {
  const auto node = read_node(cluster, options.installation, options.node, now);
  if (!node) {
    const int exit_code = report(node.error());
    return node.error().code == Errc::not_found ? kExitUsage : exit_code;
  }
  if (!node->missing.empty()) tell(node->missing);
  if (options.format == OutputFormat::table)
    std::cout << render_details(node->details, now, terminal_style());
  else
    print_json(details_json(node->details, now), options.format);
  return exit_code_of(node->details.view.health);
}

int show(const ClusterOptions& cluster, const StatusOptions& options) {
  const auto reader = ClusterReader::open(cluster);
  if (!reader) return report(reader.error());
  const WallTime now = host::SystemClock{}.now().wall;
  return options.node.empty() ? show_cluster(**reader, options, now) : show_node(**reader, options, now);
}

}  // namespace

void add_cluster_status(CLI::App& app, ClusterOptions& cluster, int& exit_code) {
  auto options = std::make_shared<StatusOptions>();
  auto* verb = app.add_subcommand("status", "Summarize node health; with NODE, show one node");
  add_node_argument(*verb, options->node, "Show all details of this node");
  add_format_option(*verb, options->format);
  add_installation_options(*verb, options->installation);
  add_cluster_options(*verb, cluster);
  verb->footer(
      "Exit status: of the worst node: 0 healthy, 1 degraded, 2 failed, 3 unknown or no\n"
      "nodes; 64 usage or no such node, 78 kubeconfig, 70 no answer.\n"
      "Examples:\n  kubectl autopilot status\n  kubectl autopilot status gpu-7\n"
      "  kubectl autopilot status -o json | jq .counts");
  verb->callback([&cluster, options, &exit_code] { exit_code = show(cluster, *options); });
}

}  // namespace autopilot::cli
