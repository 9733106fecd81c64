// SPDX-License-Identifier: Apache-2.0
#include "workloads/backfill/cluster.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/parse.hpp"
#include "core/yaml.hpp"

namespace autopilot::workloads::backfill {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kMostOfAnything = 1e9;
constexpr std::int64_t kMostNodes = 100'000;

double amount_in(YamlMap& map, std::string_view key) {
  const double amount = map.number(key).value_or(0);
  if (amount >= 0 && amount <= kMostOfAnything) return amount;
  map.problem(map.line_of(key), std::string(key) + " must be between 0 and 1e9");
  return 0;
}

Capacity capacity_in(YamlMap& map) {
  const double gpus = amount_in(map, "gpus");
  const double cpus = amount_in(map, "cpus");
  const double memory = amount_in(map, "memory_gib");
  return {gpus, cpus, memory};
}

std::optional<double> length_in(YamlMap& map, std::string_view key) {
  const auto length = map.duration(key);
  return length ? std::optional(to_seconds(*length)) : std::nullopt;
}

std::vector<double> uses_in(YamlMap& map) {
  std::vector<double> uses;
  const YamlNode* list = map.list("gpu_use");
  if (list == nullptr) return uses;
  for (const YamlNode& item : list->items) {
    const auto number = item.kind == YamlNode::Kind::scalar ? parse_number<double>(item.text) : std::nullopt;
    if (number && *number >= 0 && *number <= 100)
      uses.push_back(*number);
    else
      map.problem(item.line, "gpu_use has numbers from 0 to 100");
  }
  return uses;
}

void read_nodes(YamlMap& top, Cluster& cluster) {
  const YamlNode* list = top.list("nodes");
  if (list == nullptr) {
    if (!top.has("nodes")) top.problem(1, "the file needs the list nodes");
    return;
  }
  std::set<std::string> names;
  for (const YamlNode& item : list->items) {
    YamlMap map = top.nested(item, "node");
    Node node{map.required_word("name"), capacity_in(map)};
    if (!node.name.empty() && !names.insert(node.name).second)
      map.problem(map.line(), "node " + node.name + " is listed twice");
    cluster.nodes.push_back(std::move(node));
  }
}

void read_running(YamlMap& top, Cluster& cluster) {
  const YamlNode* list = top.list("running");
  if (list == nullptr) return;
  std::map<std::string, Capacity> free;
  for (const Node& node : cluster.nodes)
    free[node.name] = node.capacity;
  for (const YamlNode& item : list->items) {
    YamlMap map = top.nested(item, "running job");
    RunningJob job;
    job.name = map.required_word("name");
    job.nodes = map.required_words("nodes");
    job.on_each = capacity_in(map);
    job.ends_in_s = length_in(map, "ends_in");
    job.gpu_use = uses_in(map);
    job.sampled_s = length_in(map, "sampled").value_or(0);
    if (!job.gpu_use.empty() && job.sampled_s <= 0)
      map.problem(map.line(), "gpu_use needs sampled, the time that the means cover, such as 1h");
    if (static_cast<double>(job.gpu_use.size()) > job.on_each.gpus * static_cast<double>(job.nodes.size()))
      map.problem(map.line(), "gpu_use has more GPUs than the job holds");
    for (const std::string& name : job.nodes) {
      const auto place = free.find(name);
      if (place == free.end())
        map.problem(map.line(), "job " + job.name + " runs on " + name + ", which is not in nodes");
      else if (!fits(job.on_each, place->second))
        map.problem(map.line(), "the jobs on " + name + " hold more than it has");
      else
        take(place->second, job.on_each);
    }
    cluster.running.push_back(std::move(job));
  }
}

void read_pending(YamlMap& top, Cluster& cluster) {
  const YamlNode* list = top.list("pending");
  if (list == nullptr) return;
  for (const YamlNode& item : list->items) {
    YamlMap map = top.nested(item, "pending job");
    PendingJob job;
    job.name = map.required_word("name");
    const auto nodes = map.integer("nodes").value_or(1);
    if (nodes < 1 || nodes > kMostNodes)
      map.problem(map.line_of("nodes"), "nodes must be between 1 and 100000");
    job.nodes = static_cast<int>(std::clamp<std::int64_t>(nodes, 1, kMostNodes));
    job.on_each = capacity_in(map);
    job.runs_s = length_in(map, "runs");
    job.slowdown = map.number("slowdown");
    if (job.slowdown && (*job.slowdown < 0 || *job.slowdown > 1))
      map.problem(map.line_of("slowdown"), "slowdown must be between 0 and 1, such as 0.04 for 4 %");
    cluster.pending.push_back(std::move(job));
  }
}

}  // namespace

bool fits(const Capacity& need, const Capacity& free) {
  return need.gpus <= free.gpus + kRounding && need.cpus <= free.cpus + kRounding &&
         need.memory_gib <= free.memory_gib + kRounding;
}

void take(Capacity& free, const Capacity& need) {
  free.gpus -= need.gpus;
  free.cpus -= need.cpus;
  free.memory_gib -= need.memory_gib;
}

void give(Capacity& free, const Capacity& need) {
  free.gpus += need.gpus;
  free.cpus += need.cpus;
  free.memory_gib += need.memory_gib;
}

Result<Cluster> parse_cluster(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode node = parse_yaml(text, problems);
  Cluster cluster;
  if (problems.empty()) {
    YamlMap map(node, "cluster", problems);
    read_nodes(map, cluster);
    read_running(map, cluster);
    read_pending(map, cluster);
  }
  TRY_STATUS(problems.status());
  return cluster;
}

}  // namespace autopilot::workloads::backfill
