// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/select_nodes.hpp"

#include <set>

#include "cli/kubectl/cluster_reader.hpp"
#include "kube/objects.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kPage = 500;

using Names = std::set<std::string>;

Status check_job(const std::string& job) {
  const auto colon = job.find(':');
  const bool is_one =
      colon != std::string::npos && is_object_name(job.substr(0, colon)) && colon + 1 < job.size();
  if (job.empty() || is_one) return {};
  return fail(Errc::malformed,
              "--job: expected NAMESPACE:SELECTOR, such as ml:job-name=train, not '" + job + "'");
}

Result<Names> nodes_of_pods(ClusterReader& cluster, const std::string& job) {
  const auto colon = job.find(':');
  const std::string name_space = job.substr(0, colon);
  Names nodes;
  TRY_STATUS(cluster.list(
      {"/api/v1/namespaces/" + name_space + "/pods", {{"labelSelector", job.substr(colon + 1)}}}, kPage,
      {"list pods in the namespace " + name_space, ""}, [&nodes](const kube::JsonObject& object) {
        const kube::Pod pod = kube::parse_pod(object);
        if (!pod.node.empty()) nodes.insert(pod.node);
      }));
  return nodes;
}

Result<Names> labelled_nodes(ClusterReader& cluster, const std::string& selector) {
  Names nodes;
  TRY_STATUS(cluster.list(
      {"/api/v1/nodes", {{"labelSelector", selector}}}, kPage, {"list nodes", ""},
      [&nodes](const kube::JsonObject& object) { nodes.insert(kube::parse_node(object).meta.name); }));
  return nodes;
}

}  // namespace

Result<std::vector<std::string>> select_nodes(const ClusterOptions& cluster, const NodeSelection& selection) {
  TRY_STATUS(check_job(selection.job));
  const auto reader = TRY(ClusterReader::open(cluster));
  Names nodes;
  if (!selection.job.empty()) nodes = TRY(nodes_of_pods(*reader, selection.job));
  if (!selection.node_label.empty()) {
    const Names labelled = TRY(labelled_nodes(*reader, selection.node_label));
    if (selection.job.empty())
      nodes = labelled;
    else
      std::erase_if(nodes, [&labelled](const std::string& node) { return !labelled.contains(node); });
  }
  if (nodes.empty()) return fail(Errc::not_found, "no node matches --job and --nodelabel");
  return std::vector<std::string>(nodes.begin(), nodes.end());
}

}  // namespace autopilot::cli
