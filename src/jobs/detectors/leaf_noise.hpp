// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/detectors/network.hpp"
#include "jobs/detectors/network_ports.hpp"

// Errors and retransmissions below one leaf, whatever the rail and the job. Used by NetworkDetector.
namespace autopilot::jobs {

struct LeafNoise {
  std::set<std::string_view> nodes;  // with a noisy port
  std::vector<std::uint32_t> ports;  // noisy ones of the job: positions in NetworkLayout::ports
  std::size_t elsewhere = 0;         // noisy ports on nodes without a rank of the job
  std::size_t all = 0;               // ports of the job
  std::size_t nodes_of_job = 0;

  // More than faults of ports.
  [[nodiscard]] bool is_of_leaf() const;
  // Most ports of the only node of the job: the node or the leaf may be at fault.
  [[nodiscard]] bool is_of_lone_node() const;
};
using NoiseOfLeaves = std::map<std::string_view, LeafNoise, std::less<>>;

enum class NoiseSpan : std::uint8_t {
  lasting,  // in 3 of the last 5 minutes
  recent,   // in one of them
};

// By the name of the leaf; the names are those of `layout`. Ports whose errors and
// retransmissions are far fewer than those of the worst port of the leaf are not counted.
[[nodiscard]] NoiseOfLeaves noise_of_leaves(const NetworkLayout& layout, std::span<const PortSigns> signs,
                                            std::span<const NoisyPort> elsewhere, NoiseSpan span);

// The noisy ports of the job.
[[nodiscard]] std::vector<NoisyPort> noisy_ports(const NetworkLayout& layout,
                                                 std::span<const PortSigns> signs);

}  // namespace autopilot::jobs
