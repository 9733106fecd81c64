// SPDX-License-Identifier: Apache-2.0
#include "jobs/fleet.hpp"

#include <algorithm>

namespace autopilot::jobs {

std::optional<std::uint32_t> Fleet::number_of(std::string_view node) {
  if (const auto found = numbers_.find(node); found != numbers_.end()) return found->second;
  if (node.empty() || nodes_.size() >= max_nodes_) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  numbers_.emplace(node, number);
  nodes_.emplace_back().record.node = node;
  return number;
}

void Fleet::describe(const NodeRecord& record) {
  const auto number = number_of(record.node);
  if (!number) return;
  nodes_[*number].record = record;
  nodes_[*number].telemetry.describe(record);
}

bool Fleet::add(const WindowRecord& window) {
  const auto number = number_of(window.node);
  if (!number || !nodes_[*number].telemetry.add(window)) return false;
  FleetNode& node = nodes_[*number];
  node.last_window = node.last_window ? std::max(*node.last_window, window.time) : window.time;
  return true;
}

int Fleet::jobs_on_leaf(std::string_view leaf) const {
  const auto found = jobs_on_leaf_.find(leaf);
  return found == jobs_on_leaf_.end() ? 0 : found->second;
}

void Fleet::count_job_on_leaf(const std::string& leaf, int change) {
  int& jobs = jobs_on_leaf_[leaf];
  jobs += change;
  if (jobs <= 0) jobs_on_leaf_.erase(leaf);
}

bool Fleet::is_silent(std::uint32_t number, WallTime now) const {
  const FleetNode& node = nodes_[number];
  return !node.last_window || now - *node.last_window > std::chrono::seconds(30);
}

}  // namespace autopilot::jobs
