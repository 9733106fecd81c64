// SPDX-License-Identifier: Apache-2.0
#include "jobs/fleet.hpp"

#include <algorithm>
#include <chrono>

namespace autopilot::jobs {
namespace {

// Jobs are evaluated one after the other, so what one of them noted is up to a minute old.
constexpr Duration kNoiseLasts = std::chrono::minutes(2);

}  // namespace

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

void Fleet::note_noise(std::span<const NoisyPort> ports, WallTime end) {
  for (auto& [leaf, noted] : noise_)
    std::erase_if(noted, [&](const NotedNoise& each) { return end - each.end > kNoiseLasts; });
  std::erase_if(noise_, [](const auto& each) { return each.second.empty(); });
  for (const NoisyPort& port : ports) {
    std::vector<NotedNoise>& noted = noise_[port.leaf];
    const auto same = std::ranges::find_if(noted, [&](const NotedNoise& each) {
      return each.port.node == port.node && each.port.nic == port.nic;
    });
    if (same == noted.end())
      noted.push_back({port, end});
    else
      *same = {port, end};
  }
}

std::vector<NoisyPort> Fleet::noise_below(std::string_view leaf, WallTime end) const {
  std::vector<NoisyPort> ports;
  const auto found = noise_.find(leaf);
  if (found == noise_.end()) return ports;
  for (const NotedNoise& each : found->second)
    if (end - each.end <= kNoiseLasts) ports.push_back(each.port);
  return ports;
}

bool Fleet::is_silent(std::uint32_t number, WallTime now) const {
  const FleetNode& node = nodes_[number];
  return !node.last_window || now - *node.last_window > std::chrono::seconds(30);
}

}  // namespace autopilot::jobs
