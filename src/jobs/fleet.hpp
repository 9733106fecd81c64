// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/detectors/network.hpp"
#include "jobs/records.hpp"
#include "jobs/telemetry.hpp"

namespace autopilot::jobs {

struct FleetNode {
  NodeRecord record;  // without a node record: only its name
  NodeTelemetry telemetry;
  std::optional<WallTime> last_window;
  std::vector<std::string> jobs;  // that have ranks here now
};

// All nodes, by number: a node keeps its number for the life of the fleet.
class Fleet {
 public:
  explicit Fleet(std::size_t max_nodes) : max_nodes_(max_nodes) {}

  void describe(const NodeRecord& record);
  // False: the node is beyond the limit, or the window is too old.
  bool add(const WindowRecord& window);

  // The number of a node, also of a node that has sent nothing yet. nullopt: beyond the limit.
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view node);
  [[nodiscard]] const FleetNode& node(std::uint32_t number) const { return nodes_[number]; }
  [[nodiscard]] FleetNode& node(std::uint32_t number) { return nodes_[number]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // Jobs that have ranks below this leaf now.
  [[nodiscard]] int jobs_on_leaf(std::string_view leaf) const;
  void count_job_on_leaf(const std::string& leaf, int change);
  // Noisy ports of the nodes of a job, at the end of a minute.
  void note_noise(std::span<const NoisyPort> ports, WallTime end);
  // What jobs noted for ports below this leaf within the last two minutes.
  [[nodiscard]] std::vector<NoisyPort> noise_below(std::string_view leaf, WallTime end) const;
  // No window for 30 s.
  [[nodiscard]] bool is_silent(std::uint32_t number, WallTime now) const;

 private:
  struct NotedNoise {
    NoisyPort port;
    WallTime end{};
  };
  std::size_t max_nodes_;
  std::vector<FleetNode> nodes_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::map<std::string, int, std::less<>> jobs_on_leaf_;
  std::map<std::string, std::vector<NotedNoise>, std::less<>> noise_;  // by leaf
};

}  // namespace autopilot::jobs
