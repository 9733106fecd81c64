// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/leaf_noise.hpp"

#include <algorithm>

namespace autopilot::jobs {
namespace {

constexpr std::size_t kLeastPorts = 3;
// Retransmissions spread to the ports that exchange data with a faulty port; these have far fewer. Ports
// with far fewer errors than the worst one have faults of their own, or none.
constexpr float kSecondaryNoise = 0.2F;

// Rates of one port, or the highest of a leaf.
struct PortNoise {
  float errors = 0, retransmits = 0;
  void raise_to(float of_errors, float of_retransmits) {
    errors = std::max(errors, of_errors);
    retransmits = std::max(retransmits, of_retransmits);
  }
};

// What is counted of one port.
struct Noise {
  bool has_errors = false, retransmits = false;
  PortNoise rate;
};

Noise noise_of(const PortSigns& sign, NoiseSpan span) {
  const PortNoise rate{sign.errors.recent, sign.retransmits.recent};
  if (span == NoiseSpan::lasting) return {sign.errors.holds, sign.retransmits.holds, rate};
  return {rate.errors > 0, rate.retransmits > 0, rate};
}

Noise noise_of(const NoisyPort& port, NoiseSpan span) {
  const PortNoise rate{port.errors, port.retransmits};
  if (span == NoiseSpan::lasting) return {port.holds_errors, port.holds_retransmits, rate};
  return {rate.errors > 0, rate.retransmits > 0, rate};
}

bool is_secondary(float rate, float most) {
  return rate > 0 && rate < kSecondaryNoise * most;
}

bool counts(const Noise& noise, const PortNoise& most) {
  return (noise.has_errors && !is_secondary(noise.rate.errors, most.errors)) ||
         (noise.retransmits && !is_secondary(noise.rate.retransmits, most.retransmits));
}

}  // namespace

bool LeafNoise::is_of_leaf() const {
  return !ports.empty() && nodes.size() >= 2 && ports.size() + elsewhere >= kLeastPorts;
}

bool LeafNoise::is_of_lone_node() const {
  return nodes_of_job == 1 && nodes.size() == 1 && ports.size() >= kLeastPorts && 2 * ports.size() >= all;
}

NoiseOfLeaves noise_of_leaves(const NetworkLayout& layout, std::span<const PortSigns> signs,
                              std::span<const NoisyPort> elsewhere, NoiseSpan span) {
  std::map<std::string_view, PortNoise> most;
  for (const std::vector<std::uint32_t>& node : layout.nodes) {
    PortNoise& of_leaf = most[layout.ports[node.front()].leaf];
    for (const std::uint32_t port : node)
      of_leaf.raise_to(signs[port].errors.recent, signs[port].retransmits.recent);
  }
  for (const NoisyPort& port : elsewhere)
    if (const auto found = most.find(port.leaf); found != most.end())
      found->second.raise_to(port.errors, port.retransmits);
  NoiseOfLeaves leaves;
  for (const std::vector<std::uint32_t>& node : layout.nodes) {
    const NetworkPort& first = layout.ports[node.front()];
    if (first.leaf.empty()) continue;
    LeafNoise& leaf = leaves[first.leaf];
    ++leaf.nodes_of_job;
    leaf.all += node.size();
    for (const std::uint32_t port : node) {
      if (!counts(noise_of(signs[port], span), most[first.leaf])) continue;
      leaf.nodes.insert(first.node);
      leaf.ports.push_back(port);
    }
  }
  for (const NoisyPort& port : elsewhere) {
    const auto leaf = leaves.find(port.leaf);
    if (leaf == leaves.end() || !counts(noise_of(port, span), most[leaf->first])) continue;
    leaf->second.nodes.insert(port.node);
    ++leaf->second.elsewhere;
  }
  return leaves;
}

std::vector<NoisyPort> noisy_ports(const NetworkLayout& layout, std::span<const PortSigns> signs) {
  std::vector<NoisyPort> noisy;
  for (std::size_t at = 0; at < signs.size(); ++at) {
    const NetworkPort& port = layout.ports[at];
    const PortSigns& sign = signs[at];
    if (port.leaf.empty() || (sign.errors.recent <= 0 && sign.retransmits.recent <= 0)) continue;
    noisy.push_back({port.node, port.nic, port.leaf, sign.errors.recent, sign.retransmits.recent,
                     sign.errors.holds, sign.retransmits.holds});
  }
  return noisy;
}

}  // namespace autopilot::jobs
