// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/cli.hpp"
#include "cli/kubectl/node_table.hpp"
#include "cli/kubectl/read_nodes.hpp"
#include "cli/kubectl/verbs.hpp"
#include "cli/output/format.hpp"
#include "cli/output/terminal.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

struct NodesOptions {
  InstallationOptions installation;
  OutputFormat format = OutputFormat::table;
};

int show(const ClusterOptions& options, const NodesOptions& own) {
  const auto cluster = ClusterReader::open(options);
  if (!cluster) return report(cluster.error());
  const WallTime now = host::SystemClock{}.now().wall;
  const auto nodes = read_nodes(**cluster, own.installation, now);
  if (!nodes) return report(nodes.error());
  tell_missing(*nodes, own.installation);
  if (own.format == OutputFormat::table)
    std::cout << render_nodes(nodes->views, now, terminal_style());
  else
    print_json(nodes_json(nodes->views, now), own.format);
  return kExitHealthy;
}

}  // namespace

void add_cluster_nodes(CLI::App& app, ClusterOptions& cluster, int& exit_code) {
  auto options = std::make_shared<NodesOptions>();
  auto* verb = app.add_subcommand("nodes", "List all nodes with their health");
  add_format_option(*verb, options->format);
  add_installation_options(*verb, options->installation);
  add_cluster_options(*verb, cluster);
  verb->footer(
      "A node without a report for 15 minutes is UNKNOWN, whatever its last verdict.\n"
      "Examples:\n  kubectl autopilot nodes\n  kubectl autopilot nodes --context production\n"
      "  kubectl autopilot nodes -o json | jq -r '.items[] | select(.health != \"healthy\").node'");
  verb->callback([&cluster, options, &exit_code] { exit_code = show(cluster, *options); });
}

}  // namespace autopilot::cli
