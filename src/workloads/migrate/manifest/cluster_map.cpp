// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/cluster_map.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "core/yaml.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr std::size_t kMostHosts = 10'000;

// "NVIDIAA100_SXM4_80GB" of LSF as the label of the device plugin: "NVIDIA-A100-SXM4-80GB".
std::string product_of(std::string_view model) {
  for (const std::string_view maker : {"NVIDIA", "Tesla"}) {
    if (!model.starts_with(maker) || model.size() <= maker.size() + 2) continue;
    std::string rest(model.substr(maker.size()));
    std::replace(rest.begin(), rest.end(), '_', '-');
    return std::string(maker) + (rest.front() == '-' ? "" : "-") + rest;
  }
  return {};
}

void place_model(const JobPart& part, const ClusterMap& map, Placement& placement, Findings& findings) {
  const std::string& model = part.gpu.model;
  if (model.empty()) return;
  if (const auto found = map.nodes.find(model); found != map.nodes.end()) {
    placement.node_labels.insert(placement.node_labels.end(), found->second.begin(), found->second.end());
    return;
  }
  if (const std::string product = product_of(model); !product.empty()) {
    placement.node_labels.emplace_back("nvidia.com/gpu.product", product);
    findings.add(Severity::note, "M-GPU-MODEL", 0,
                 "The GPU model " + model + " becomes the node label nvidia.com/gpu.product: " + product,
                 "Check it: kubectl get nodes -L nvidia.com/gpu.product");
    return;
  }
  findings.add(Severity::decision, "M-GPU-MODEL", 0,
               "The old cluster names a GPU model " + model + "; any GPU of the new cluster is used",
               "Name its node labels in the file of --queue-map, under nodes: " + model);
}

// Conditions that every node with GPUs meets.
bool is_trivial(std::string_view text) {
  return text.starts_with("type==any") || text.starts_with("type=any") || text.starts_with("ngpus") ||
         text.starts_with("mem>") || text.starts_with("swp>") || text.starts_with("tmp>") ||
         text.starts_with("maxmem>") || text.starts_with("hname!=") || text == "linux";
}

void place_feature(std::string_view feature, const ClusterMap& map, Placement& placement,
                   Findings& findings) {
  if (feature.empty() || is_trivial(feature)) return;
  if (const auto found = map.nodes.find(feature); found != map.nodes.end()) {
    placement.node_labels.insert(placement.node_labels.end(), found->second.begin(), found->second.end());
    return;
  }
  findings.add(Severity::decision, "M-CONSTRAINT", 0,
               "The job wants nodes with \"" + std::string(feature) +
                   "\", which is a name of the old cluster; any node is used",
               "Name its node labels in the file of --queue-map, under nodes, or remove it");
}

void expand_into(std::string_view text, std::vector<std::string>& hosts) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    if (!text.empty()) hosts.emplace_back(text);
    return;
  }
  for (const std::string_view range : split(text.substr(open + 1, close - open - 1), ',')) {
    const auto dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const auto begin = parse_number<int>(first);
    const auto end = dash == std::string_view::npos ? begin : parse_number<int>(range.substr(dash + 1));
    if (!begin || !end || *begin < 0 || *end < *begin) return;
    for (int number = *begin; number <= *end && hosts.size() <= kMostHosts; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      hosts.push_back(std::string(text.substr(0, open)) + digits + std::string(text.substr(close + 1)));
    }
  }
}

void place_queue(const JobPart& part, const ClusterMap& map, Placement& placement, Findings& findings) {
  if (part.queues.empty()) return;
  placement.queue_name = part.queues.front();
  if (part.queues.size() > 1)
    findings.add(Severity::note, "M-QUEUE", 0,
                 "The job accepts " + std::to_string(part.queues.size()) + " queues; the first, " +
                     placement.queue_name + ", counts",
                 "Nothing to do");
  const auto found = map.queues.find(placement.queue_name);
  if (found != map.queues.end())
    placement.queue = found->second;
  else
    findings.add(
        map.is_given ? Severity::warning : Severity::note, "M-QUEUE", 0,
        "The queue " + placement.queue_name + " has no entry in a queue map; it is only a label of the job",
        "Name the queue of Kueue or Volcano in a file, and give --queue-map FILE");
}

QueueTarget read_queue(YamlMap map) {
  QueueTarget target;
  target.local_queue = map.word("localQueue").value_or("");
  target.volcano_queue = map.word("volcanoQueue").value_or("");
  target.priority_class = map.word("priorityClass").value_or("");
  return target;
}

}  // namespace

Result<ClusterMap> parse_cluster_map(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode root = parse_yaml(text, problems);
  ClusterMap map;
  map.is_given = true;
  if (problems.empty()) {
    YamlMap top(root, "queue map", problems);
    if (const YamlNode* queues = top.map("queues"))
      for (const YamlMember& queue : queues->members)
        map.queues[queue.key] = read_queue(top.nested(queue.value, "queue " + queue.key));
    if (const YamlNode* nodes = top.map("nodes"))
      for (const YamlMember& feature : nodes->members)
        for (const YamlMember& label : feature.value.members) {
          if (label.value.kind != YamlNode::Kind::scalar)
            problems.add(label.line, "the value of a node label has to be a word");
          map.nodes[feature.key].emplace_back(label.key, label.value.text);
        }
  }
  TRY_STATUS(problems.status());
  return map;
}

std::vector<std::string> expand_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  std::string item;
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if ((c == ',' || c == ' ') && depth == 0) {
      expand_into(item, hosts);
      item.clear();
    } else {
      item += c;
    }
  }
  expand_into(item, hosts);
  if (hosts.size() > kMostHosts) hosts.clear();
  return hosts;
}

Placement place(const JobPart& part, const ClusterMap& map, Findings& findings) {
  Placement placement;
  place_model(part, map, placement, findings);
  for (const std::string& constraint : part.constraints)
    for (const std::string& feature : list_of(constraint, "&()|[] "))
      place_feature(feature, map, placement, findings);
  const auto joined = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
      text += (text.empty() ? "" : ",") + word;
    return text;
  };
  placement.hosts_included = expand_hosts(joined(part.hosts_included));
  placement.hosts_excluded = expand_hosts(joined(part.hosts_excluded));
  if (!placement.hosts_included.empty())
    findings.add(Severity::decision, "M-HOSTS", 0,
                 "The job names hosts of the old cluster; its pods start only on nodes with these names",
                 "Remove the list of hosts, unless the new cluster has the same names");
  place_queue(part, map, placement, findings);
  return placement;
}

}  // namespace autopilot::workloads::migrate
