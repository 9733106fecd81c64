// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/read_nodes.hpp"

#include <span>

#include "cli/output/terminal.hpp"
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

}  // namespace

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

void tell_missing(const ClusterNodes& nodes, const InstallationOptions& installation) {
  if (!nodes.missing.empty()) tell(nodes.missing);
  if (nodes.views.empty())
    tell("no node has a report in the namespace " + installation.name_space +
         "; check the namespace of Autopilot (--namespace), and that its agents write reports "
         "(kubernetes.write_node)");
}

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

}  // namespace autopilot::cli
