// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/kubectl/cluster.hpp"
#include "cli/kubectl/details_page.hpp"
#include "cli/kubectl/node_tables.hpp"
#include "cli/kubectl/node_view.hpp"
#include "cli/kubectl/plugin.hpp"
#include "cli/output/print.hpp"
#include "core/result.hpp"
#include "host/clock/system_clock.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"

namespace autopilot::cli {

namespace {

// A report has at most 128 KiB, and an answer of the API server 32 MiB.
constexpr std::size_t kReportsInAPage = 100;
constexpr std::size_t kNodesInAPage = 500;

Asked asked_for_reports(const char* verb, const InstallationOptions& installation) {
  return {
      std::string(verb) + " nodehealthreports.autopilot.ibm.com in the namespace " + installation.name_space,
      "the kind NodeHealthReport is not installed; run: kubectl apply --server-side -f "
      "deploy/helm/autopilot/crds/"};
}

// Reports contain most information: without permission for Node objects the verb shows reports alone.
Result<std::string> what_is_missing(const Status& read) {
  if (read) return std::string();
  if (read.error().code != Errc::denied) return fail(read.error());
  return read.error().what +
         "; nodes without a report are missing here, and so are the labels and conditions of the others";
}

struct ClusterNodes {
  std::vector<NodeView> views;  // by name
  std::string missing;          // error of the Node objects, while reports were read; empty: no error
};

Result<ClusterNodes> read_nodes(ClusterReader& cluster, const InstallationOptions& installation,
                                WallTime now) {
  std::vector<kube::HealthReport> reports;
  TRY_STATUS(cluster.list(
      {kube::health_reports_path(installation.name_space), {}}, kReportsInAPage,
      asked_for_reports("list", installation),
      [&reports](const kube::JsonObject& object) { reports.push_back(kube::parse_health_report(object)); }));
  std::vector<kube::Node> nodes;
  const Status listed =
      cluster.list({"/api/v1/nodes", {{"labelSelector", installation.label_prefix + "/gpuhealth"}}},
                   kNodesInAPage, {"list nodes", ""},
                   [&nodes](const kube::JsonObject& object) { nodes.push_back(kube::parse_node(object)); });
  ClusterNodes found;
  found.missing = TRY(what_is_missing(listed));
  found.views = node_views(reports, nodes, installation.label_prefix, now);
  return found;
}

// Prints on standard error what is missing, and a remedy if no node was found.
void tell_missing(const ClusterNodes& nodes, const InstallationOptions& installation) {
  if (!nodes.missing.empty()) tell(nodes.missing);
  if (nodes.views.empty())
    tell("no node has a report in the namespace " + installation.name_space +
         "; check the namespace of Autopilot (--namespace), and that its agents write reports "
         "(kubernetes.write_node)");
}

struct ClusterNode {
  NodeDetails details;
  std::string missing;  // as in ClusterNodes
};

// not_found: the cluster has no such node.
Result<ClusterNode> read_node(ClusterReader& cluster, const InstallationOptions& installation,
                              const std::string& node, WallTime now) {
  ClusterNode found;
  std::vector<kube::HealthReport> reports;
  const bool has_report =
      TRY(cluster.find(kube::health_reports_path(installation.name_space) + "/" + node,
                       asked_for_reports("get", installation), [&](const kube::JsonObject& object) {
                         reports.push_back(kube::parse_health_report(object));
                         found.details.report = kube::parse_report_details(object);
                       }));
  std::vector<kube::Node> nodes;
  const auto has_node =
      cluster.find("/api/v1/nodes/" + node, {"get nodes", ""}, [&](const kube::JsonObject& object) {
        nodes.push_back(kube::parse_node(object));
        found.details.conditions = own_conditions(nodes.back());
      });
  if (!has_node) found.missing = TRY(what_is_missing(fail(has_node.error())));
  if (!has_report && has_node && !*has_node)
    return fail(Errc::not_found,
                "no node '" + node + "' in this cluster; list nodes with: kubectl autopilot nodes");
  const auto views = node_views(reports, nodes, installation.label_prefix, now);
  found.details.view =
      views.empty() ? NodeView{.node = node, .worst = "no agent has reported this node"} : views.front();
  return found;
}

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

namespace {

struct StatusOptions {
  std::string node;
  bool all = false;
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
    std::cout << (options.all ? render_details(node->details, now, terminal_style())
                              : render_page(page_of(node->details), page_view(now)));
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
  add_node_argument(*verb, options->node, "Show the problems of this node");
  verb->add_flag("-a,--all", options->all,
                 "With NODE: print its incidents, conditions and unhealthy checks as tables");
  add_format_option(*verb, options->format);
  add_installation_options(*verb, options->installation);
  add_cluster_options(*verb, cluster);
  verb->footer(
      "Examples:\n  kubectl autopilot status\n  kubectl autopilot status gpu-7\n"
      "  kubectl autopilot status gpu-7 --all\n"
      "  kubectl autopilot status -o json | jq .counts");
  verb->callback([&cluster, options, &exit_code] { exit_code = show(cluster, *options); });
}

}  // namespace autopilot::cli
