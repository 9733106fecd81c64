// SPDX-License-Identifier: Apache-2.0
#include "jobs/network_watch.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "jobs/detectors/peers.hpp"

namespace autopilot::jobs {

void NetworkWatch::start(const Membership& members, const Fleet& fleet) {
  places_.clear();
  std::vector<NetworkPort> ports;
  for (const std::uint32_t number : members.nodes()) {
    const FleetNode& node = fleet.node(number);
    const std::vector<std::string>& nics = node.telemetry.nics();
    for (std::size_t row = 0; row < nics.size(); ++row) {
      NetworkPort port{.node = node.record.node,
                       .nic = nics[row],
                       .leaf = node.record.leaf,
                       .rail = static_cast<int>(row)};
      const auto described = std::ranges::find(node.record.nics, nics[row], &NicOfNode::name);
      if (described != node.record.nics.end() && described->bytes_s)
        port.line_rate_bytes_s = static_cast<float>(*described->bytes_s);
      ports.push_back(std::move(port));
      places_.push_back({number, row});
    }
  }
  detector_.emplace(std::move(ports));
}

PortMinute NetworkWatch::read(const JobContext& job, const Place& place, WallTime end) {
  const FleetNode& node = job.fleet.node(place.node);
  const NodeTelemetry& telemetry = node.telemetry;
  const auto gauge = [&](Metric metric) { return telemetry.over_minute(metric, place.row, end); };
  const auto seconds = static_cast<float>(to_seconds(telemetry.covered(end)));
  const auto rate = [&](Metric metric) { return per_minute(gauge(metric), seconds); };
  PortMinute port{.tx_bytes_s = gauge(Metric::nic_tx_bytes_s),
                  .rx_bytes_s = gauge(Metric::nic_rx_bytes_s),
                  .rate_bytes_s = gauge(Metric::nic_rate_bytes_s),
                  .up = gauge(Metric::nic_up),
                  .link_downed = gauge(Metric::nic_link_downed),
                  .errors = rate(Metric::nic_errors),
                  .retransmits = rate(Metric::nic_retransmits),
                  .cnp = rate(Metric::nic_cnp),
                  .pause = rate(Metric::nic_pause),
                  .jobs_on_leaf = std::max(1, job.fleet.jobs_on_leaf(node.record.leaf))};
  float downs = 0;
  for (const Event& event : job.events.of_node(node.record.node, end - kMinute, end))
    if (event.key == "link_down" && event.entity.nic == telemetry.nics()[place.row] &&
        event.time > end - kMinute)
      downs += static_cast<float>(event.count);
  if (downs > 0) port.link_downed = std::isnan(port.link_downed) ? downs : std::max(port.link_downed, downs);
  return port;
}

// Below the leaves of the job, on nodes without one of its ranks.
std::vector<NoisyPort> NetworkWatch::noise_elsewhere(const JobContext& job, WallTime end) {
  std::set<std::string_view> nodes, leaves;
  for (const std::uint32_t number : job.members.nodes()) {
    const NodeRecord& node = job.fleet.node(number).record;
    nodes.insert(node.node);
    if (!node.leaf.empty()) leaves.insert(node.leaf);
  }
  std::vector<NoisyPort> elsewhere;
  for (const std::string_view leaf : leaves)
    for (NoisyPort& port : job.fleet.noise_below(leaf, end))
      if (!nodes.contains(port.node)) elsewhere.push_back(std::move(port));
  return elsewhere;
}

std::span<const NoisyPort> NetworkWatch::noisy() const {
  return detector_ ? std::span<const NoisyPort>(detector_->noisy()) : std::span<const NoisyPort>();
}

std::vector<NetworkFinding> NetworkWatch::minute(const JobContext& job, WallTime end) {
  // NICs that no node record names become known by their first window.
  std::size_t ports = 0;
  for (const std::uint32_t number : job.members.nodes())
    ports += job.fleet.node(number).telemetry.nics().size();
  if (!detector_ || ports != places_.size()) start(job.members, job.fleet);
  minutes_.clear();
  for (const Place& place : places_)
    minutes_.push_back(read(job, place, end));
  return detector_->add(minutes_, end, noise_elsewhere(job, end));
}

}  // namespace autopilot::jobs
