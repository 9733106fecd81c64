// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/spares.hpp"

#include <algorithm>
#include <string>

namespace autopilot::controller {
namespace {

int free_gpus(const World& world, const Node& node) {
  int free = node.gpus;
  for (const std::string& uid : world.pods_on(node.name))
    if (const Pod* pod = world.pod(uid)) free -= pod->gpus;
  return free;
}

int gpus_of(std::span<const Pod* const> pods) {
  int gpus = 0;
  for (const Pod* pod : pods)
    gpus += pod->gpus;
  return gpus;
}

std::optional<std::string> spare_among(const Deliberation& all, const World::Names& names, const Node& node,
                                       std::span<const Pod* const> pods) {
  const int gpus = gpus_of(pods);
  std::optional<std::string> on_probation;
  for (const std::string& name : names) {
    const Node* other = all.world.node(name);
    if (other == nullptr || name == node.name || other->pool != node.pool || all.spares.contains(name))
      continue;
    const auto fits = [other](const Pod* pod) { return obstacle_of(*pod, *other).empty(); };
    if (!std::ranges::all_of(pods, fits) || !is_good(all, *other) || free_gpus(all.world, *other) < gpus)
      continue;
    if (!other->probation) return name;
    if (!on_probation) on_probation = name;
  }
  return on_probation;
}

}  // namespace

std::string fault_of(const Deliberation& all, const Node& node) {
  const Rules& rules = all.rules_of(node);
  for (const std::string& name : all.world.reports_on(node.name)) {
    const Report* report = all.world.report(name);
    // Undone: whoever gave the node back has decided about it.
    if (report == nullptr || report->phase == ReportPhase::undone) continue;
    if (!is_standing(*report, node, rules, all.now)) continue;
    return report->failed.empty() ? "pre-flight test failed" : report->failed.front().test + " failed";
  }
  if (node.verdict == Verdict::evict)
    return node.causes.empty() ? "EVICT" : "EVICT: " + node.causes.front().cause;
  if (node.held) return "held";
  if (node.is_unschedulable) return "cordoned";
  if (!node.is_ready) return "not ready";
  if (node.verdict == Verdict::testing) return "being tested";
  return node.verdict && node.verdict != Verdict::none ? "" : "not known";
}

bool is_good(const Deliberation& all, const Node& node) {
  return fault_of(all, node).empty();
}

std::string obstacle_of(const Pod& pod, const Node& node) {
  if (node.gpus < pod.gpus) return "has too few GPUs";
  if (!kube::may_be_placed(pod.placement, node.name, node.labels, {}))
    return "is not one that the pod selects";
  if (!kube::may_be_placed(pod.placement, node.name, node.labels, node.taints))
    return "has a taint that the pod does not tolerate";
  return {};
}

bool has_another(const Deliberation& all, const Node& node, const Pod& pod) {
  return std::ranges::any_of(all.world.in_pool(node.pool), [&](const std::string& name) {
    const Node* other = all.world.node(name);
    return other != nullptr && name != node.name && obstacle_of(pod, *other).empty() && is_good(all, *other);
  });
}

std::optional<std::string> spare_for(const Deliberation& all, const Node& node,
                                     std::span<const Pod* const> pods) {
  if (all.rules_of(node).prefers_same_domain && !node.domain.empty())
    if (auto near = spare_among(all, all.world.in_domain(node.domain), node, pods)) return near;
  return spare_among(all, all.world.in_pool(node.pool), node, pods);
}

}  // namespace autopilot::controller
