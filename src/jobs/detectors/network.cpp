// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "jobs/detectors/amounts.hpp"
#include "jobs/detectors/leaf_noise.hpp"
#include "jobs/detectors/network_ports.hpp"

namespace autopilot::jobs {

namespace {

// Share of the nodes below a leaf: reference for in-flight detection, 2a.7.
constexpr double kLeafShare = 0.3;
constexpr double kFabricShare = 0.5;
constexpr double kRailShare = 0.2;
// Retransmissions spread to the ports that exchange data with a faulty port; these have far fewer.
constexpr float kSecondary = 0.2F;
// The other ports of a faulty leaf reach their limits within this time; minutes.
constexpr std::uint8_t kLongestHold = 5;

Evidence port_evidence(std::string_view signal, std::string text, WallTime time, double value, double peers) {
  Evidence evidence;
  evidence.family = Family::nic;
  evidence.signal = signal;
  evidence.text = std::move(text);
  evidence.time = time;
  if (std::isfinite(value)) evidence.value = value;
  if (std::isfinite(peers)) evidence.peers = peers;
  return evidence;
}

// All of one minute that the rules below need.
struct NetworkMinute {
  const NetworkLayout& layout;
  std::span<const PortMinute> minutes;
  std::span<const PortSigns> signs;
  WallTime time;

  [[nodiscard]] Evidence compare(std::uint32_t port, std::string_view signal, Metric metric, double value,
                                 double peers) const {
    const NetworkPort& where = layout.ports[port];
    return port_evidence(
        signal, where.nic + " of " + where.node + ": " + compare_amounts(metric, value, peers, kMissing, 0),
        time, value, peers);
  }

  [[nodiscard]] std::vector<Evidence> evidence_of(std::uint32_t port) const {
    const PortSigns& sign = signs[port];
    const PortMinute& minute = minutes[port];
    const NetworkPort& where = layout.ports[port];
    const std::string name = where.nic + " of " + where.node;
    std::vector<Evidence> found;
    if (sign.is_down)
      found.push_back(port_evidence(
          "nic_down", name + " was active " + amount_of(Metric::nic_up, minute.up) + " of the minute", time,
          minute.up, 1));
    if (sign.is_slow)
      found.push_back(
          compare(port, "nic_rate_low", Metric::nic_rate_bytes_s, minute.rate_bytes_s, sign.rate_peers));
    if (sign.downs > 0)
      found.push_back(port_evidence("nic_link_downed",
                                    name + " went down " + std::to_string(sign.downs) + " times in 5 minutes",
                                    time, sign.downs, kMissing));
    if (sign.errors.holds)
      found.push_back(compare(port, "nic_errors_high", Metric::nic_errors, minute.errors, sign.errors.peers));
    if (sign.retransmits.holds)
      found.push_back(compare(port, "nic_retransmits_high", Metric::nic_retransmits, minute.retransmits,
                              sign.retransmits.peers));
    if (sign.is_low || sign.is_asymmetric)
      found.push_back(compare(port, sign.is_asymmetric ? "nic_asymmetric" : "nic_tx_low",
                              Metric::nic_tx_bytes_s, sign.traffic, sign.traffic_peers));
    if (sign.is_congested)
      found.push_back(compare(port, "nic_cnp_high", Metric::nic_cnp, minute.cnp, sign.cnp_peers));
    return found;
  }
};

bool reaches_share(std::size_t count, std::size_t all, double share) {
  return count >= 2 && static_cast<double>(count) >= share * static_cast<double>(all);
}

// Other jobs fill the leaf: many notifications on its ports, and no sign of a fault.
bool is_congested(const NetworkMinute& minute, const std::vector<std::uint32_t>& ports) {
  std::size_t marked = 0;
  for (const std::uint32_t port : ports) {
    const PortSigns& sign = minute.signs[port];
    if (sign.is_hard() || sign.errors.holds) return false;
    marked += sign.is_congested ? 1 : 0;
  }
  return reaches_share(marked, ports.size(), kLeafShare);
}

// The ports to ask: of a job with one node below the leaf, each rail has one port only.
std::vector<std::uint32_t> ports_to_compare(const NetworkLayout& layout, const NetworkLayout::Leaf& leaf) {
  if (leaf.ports.size() > 1) return leaf.ports;
  std::vector<std::uint32_t> ports;
  for (const NetworkLayout::Leaf& rail :
       std::ranges::equal_range(layout.leaves, leaf.name, {}, &NetworkLayout::Leaf::name))
    ports.insert(ports.end(), rail.ports.begin(), rail.ports.end());
  return ports;
}

// The ports of a leaf that have a fault, if they are too many for faults of ports.
std::vector<std::uint32_t> faulty_ports(const NetworkMinute& minute, const NetworkLayout::Leaf& leaf) {
  float most = 0;
  for (const std::uint32_t port : leaf.ports)
    if (const float rate = minute.minutes[port].retransmits; std::isfinite(rate)) most = std::max(most, rate);
  std::vector<std::uint32_t> faulty;
  std::size_t with_fault = 0;
  for (const std::uint32_t port : leaf.ports) {
    const PortSigns& sign = minute.signs[port];
    const bool retransmits =
        sign.retransmits.holds && !(minute.minutes[port].retransmits < kSecondary * most);
    const bool has_fault = sign.is_hard() || sign.errors.holds || retransmits;
    with_fault += has_fault ? 1 : 0;
    if (has_fault || (sign.is_low && !sign.is_congested)) faulty.push_back(port);
  }
  // One port with a fault lowers the traffic of the others.
  if (with_fault < 2) faulty.clear();
  if (!reaches_share(faulty.size(), leaf.ports.size(), kLeafShare)) faulty.clear();
  return faulty;
}

void add_evidence(NetworkFinding& finding, const NetworkMinute& minute,
                  const std::vector<std::uint32_t>& ports) {
  for (const std::uint32_t port : ports)
    for (Evidence& each : minute.evidence_of(port))
      if (finding.evidence.size() < NetworkFinding::kMaxEvidence) finding.evidence.push_back(std::move(each));
}

std::string share_text(std::size_t count, std::size_t all, const NetworkLayout::Leaf& leaf,
                       std::string_view what) {
  return std::to_string(count) + " of " + std::to_string(all) + " ports of rail " +
         std::to_string(leaf.rail) + " below leaf " + leaf.name + " " + std::string(what);
}

// Findings of leaves, and the ports that they explain.
class LeafJudge {
 public:
  // `lasting`: for how many minutes before each port had a fault that no leaf explained.
  LeafJudge(const NetworkMinute& minute, std::span<const NoisyPort> elsewhere,
            std::span<const std::uint8_t> lasting)
      : minute_(minute),
        lasting_(lasting),
        explained_(minute.signs.size(), false),
        held_(minute.signs.size(), false) {
    std::set<std::string_view> names;
    for (const NetworkLayout::Leaf& leaf : minute.layout.leaves) {
      names.insert(leaf.name);
      if (is_congested(minute, ports_to_compare(minute.layout, leaf))) {
        add_congestion(leaf);
      } else if (const auto ports = faulty_ports(minute, leaf); !ports.empty()) {
        add_leaf(leaf, ports);
      }
    }
    join_rails(elsewhere);
    hold_ports(elsewhere);
    if (leaves_.size() >= 2 &&
        static_cast<double>(leaves_.size()) > kFabricShare * static_cast<double>(names.size()))
      join_leaves(names.size());
  }

  [[nodiscard]] bool explains(std::uint32_t port) const { return explained_[port]; }
  // Errors of the port do not accuse it: they may be those of its leaf.
  [[nodiscard]] bool holds(std::uint32_t port) const { return held_[port]; }
  void move_findings(std::vector<NetworkFinding>& findings) {
    for (auto& [name, finding] : leaves_)
      findings.push_back(std::move(finding));
    for (auto& [name, finding] : congested_)
      findings.push_back(std::move(finding));
  }

 private:
  void add_congestion(const NetworkLayout::Leaf& leaf) {
    for (const std::uint32_t port : leaf.ports)
      explained_[port] = true;
    const auto marked = std::ranges::count_if(
        leaf.ports, [&](std::uint32_t port) { return minute_.signs[port].is_congested; });
    NetworkFinding& finding = congested_[leaf.name];
    finding.fault = NetworkFault::congestion;
    if (finding.evidence.size() < NetworkFinding::kMaxEvidence)
      finding.evidence.push_back(
          port_evidence("nic_cnp_high",
                        share_text(static_cast<std::size_t>(marked), leaf.ports.size(), leaf,
                                   "get many congestion notifications or pause frames, without errors"),
                        minute_.time, static_cast<double>(marked), kMissing));
  }

  void add_leaf(const NetworkLayout::Leaf& leaf, const std::vector<std::uint32_t>& ports) {
    for (const std::uint32_t port : leaf.ports)
      explained_[port] = true;
    NetworkFinding& finding = leaves_[leaf.name];
    finding.fault = NetworkFault::leaf;
    finding.culprit = {EntityKind::leaf, leaf.name, -1, {}};
    if (finding.evidence.size() < NetworkFinding::kMaxEvidence)
      finding.evidence.push_back(
          port_evidence("leaf_rail", share_text(ports.size(), leaf.ports.size(), leaf, "have a fault"),
                        minute_.time, static_cast<double>(ports.size()), kMissing));
    add_evidence(finding, minute_, ports);
  }

  // A leaf whose ports have errors in turn, on several rails, or on nodes of other jobs: never enough at once
  // on one rail of the job.
  void join_rails(std::span<const NoisyPort> elsewhere) {
    const NoiseOfLeaves noise = noise_of_leaves(minute_.layout, minute_.signs, elsewhere, NoiseSpan::lasting);
    for (const NetworkLayout::Leaf& leaf : minute_.layout.leaves) {
      const LeafNoise& noisy = noise.at(leaf.name);
      if (!noisy.is_of_leaf()) continue;
      for (const std::uint32_t port : leaf.ports)
        explained_[port] = true;
      if (leaves_.contains(leaf.name)) continue;
      NetworkFinding& finding = leaves_[leaf.name];
      finding.fault = NetworkFault::leaf;
      finding.culprit = {EntityKind::leaf, leaf.name, -1, {}};
      finding.evidence.push_back(port_evidence("leaf_rail", noise_text(leaf.name, noisy), minute_.time,
                                               static_cast<double>(noisy.ports.size()), kMissing));
      add_evidence(finding, minute_, noisy.ports);
    }
  }

  static std::string noise_text(const std::string& leaf, const LeafNoise& noisy) {
    std::string text = std::to_string(noisy.ports.size()) + " of " + std::to_string(noisy.all) +
                       " ports below leaf " + leaf + " have a fault, ";
    if (noisy.elsewhere > 0) text += "and " + std::to_string(noisy.elsewhere) + " of other jobs, ";
    return text + "on " + std::to_string(noisy.nodes.size()) + " nodes";
  }

  // The ports of a faulty leaf reach their limits one after the other: the first one is not a faulty port,
  // unless it stays the only one.
  void hold_ports(std::span<const NoisyPort> elsewhere) {
    for (const auto& [name, noisy] :
         noise_of_leaves(minute_.layout, minute_.signs, elsewhere, NoiseSpan::recent))
      for (const std::uint32_t port : noisy.ports)
        held_[port] = (noisy.is_of_leaf() && lasting_[port] < kLongestHold) || noisy.is_of_lone_node();
  }

  void join_leaves(std::size_t all) {
    NetworkFinding finding{NetworkFault::fabric, {}, {}};
    finding.evidence.push_back(port_evidence(
        "fabric",
        std::to_string(leaves_.size()) + " of " + std::to_string(all) + " leaves have faults at once",
        minute_.time, static_cast<double>(leaves_.size()), kMissing));
    for (auto& [name, leaf] : leaves_)
      if (finding.evidence.size() < NetworkFinding::kMaxEvidence)
        finding.evidence.push_back(std::move(leaf.evidence.front()));
    leaves_.clear();
    leaves_.emplace("", std::move(finding));
  }

  const NetworkMinute& minute_;
  std::span<const std::uint8_t> lasting_;
  std::map<std::string, NetworkFinding> leaves_, congested_;
  std::vector<bool> explained_, held_;
};

// Rails on which so many ports retransmit, across leaves, that no single port is the cause.
std::vector<bool> rails_with_common_cause(const NetworkMinute& minute, const LeafJudge& leaves) {
  std::vector<bool> common;
  for (const std::vector<std::uint32_t>& rail : minute.layout.rails) {
    const auto soft = std::ranges::count_if(rail, [&](std::uint32_t port) {
      return minute.signs[port].retransmits.holds && !leaves.explains(port);
    });
    common.push_back(static_cast<double>(soft) >
                     std::max(1.0, kRailShare * static_cast<double>(rail.size())));
  }
  return common;
}

bool is_noisy(const CounterSign& sign) {
  return sign.holds && sign.is_now;
}

std::optional<NetworkFault> fault_of(const PortSigns& sign, bool is_held, bool is_retransmission_common) {
  if (sign.is_down) return NetworkFault::link_down;
  if (sign.is_slow) return NetworkFault::link_speed;
  if (sign.is_flapping) return NetworkFault::flapping;
  if (!is_held && (is_noisy(sign.errors) || (is_noisy(sign.retransmits) && !is_retransmission_common)))
    return NetworkFault::retransmits;
  if (sign.is_asymmetric) return NetworkFault::asymmetric;
  if (sign.has_bounced) return NetworkFault::link_bounce;
  return std::nullopt;
}

void add_ports(const NetworkMinute& minute, const LeafJudge& leaves, std::vector<NetworkFinding>& findings) {
  const std::vector<bool> common = rails_with_common_cause(minute, leaves);
  for (std::uint32_t port = 0; port < minute.signs.size(); ++port) {
    if (leaves.explains(port)) continue;
    const auto fault = fault_of(minute.signs[port], leaves.holds(port), common[minute.layout.rail_of[port]]);
    if (!fault) continue;
    const NetworkPort& where = minute.layout.ports[port];
    NetworkFinding finding{*fault, {EntityKind::nic, where.node, -1, where.nic}, {}};
    add_evidence(finding, minute, {port});
    findings.push_back(std::move(finding));
  }
  if (std::ranges::count(common, true) == 0) return;
  NetworkFinding finding{NetworkFault::fabric, {}, {}};
  for (std::size_t rail = 0; rail < common.size(); ++rail)
    for (const std::uint32_t port : minute.layout.rails[rail])
      if (common[rail] && minute.signs[port].retransmits.holds && !leaves.explains(port))
        add_evidence(finding, minute, {port});
  findings.push_back(std::move(finding));
}

}  // namespace

class NetworkDetector::State {
 public:
  explicit State(std::vector<NetworkPort> ports)
      : layout_(make_layout(std::move(ports))), histories_(layout_), lasting_(layout_.ports.size(), 0) {}

  std::vector<NetworkFinding> add(std::span<const PortMinute> given, WallTime time,
                                  std::span<const NoisyPort> elsewhere) {
    std::vector<PortMinute> minutes(given.begin(), given.end());
    minutes.resize(layout_.ports.size());
    const std::vector<PortSigns> signs = histories_.add(layout_, minutes);
    const NetworkMinute minute{layout_, minutes, signs, time};
    noisy_ = noisy_ports(layout_, signs);
    LeafJudge leaves(minute, elsewhere, lasting_);
    note_lasting(signs, leaves);
    std::vector<NetworkFinding> findings;
    add_ports(minute, leaves, findings);
    leaves.move_findings(findings);
    std::ranges::stable_sort(findings, {}, &NetworkFinding::fault);
    return findings;
  }

  [[nodiscard]] const std::vector<NoisyPort>& noisy() const { return noisy_; }

 private:
  void note_lasting(const std::vector<PortSigns>& signs, const LeafJudge& leaves) {
    for (std::uint32_t port = 0; port < signs.size(); ++port) {
      const bool lasts =
          (signs[port].errors.holds || signs[port].retransmits.holds) && !leaves.explains(port);
      const int minutes = lasts ? std::min(lasting_[port] + 1, int{kLongestHold}) : 0;
      lasting_[port] = static_cast<std::uint8_t>(minutes);
    }
  }

  NetworkLayout layout_;
  PortHistories histories_;
  std::vector<std::uint8_t> lasting_;  // see LeafJudge; at most kLongestHold
  std::vector<NoisyPort> noisy_;
};

std::string_view to_string(NetworkFault fault) {
  switch (fault) {
    case NetworkFault::link_down:
      return "link_down";
    case NetworkFault::link_speed:
      return "link_speed";
    case NetworkFault::flapping:
      return "flapping";
    case NetworkFault::retransmits:
      return "retransmits";
    case NetworkFault::leaf:
      return "leaf";
    case NetworkFault::asymmetric:
      return "asymmetric";
    case NetworkFault::link_bounce:
      return "link_bounce";
    case NetworkFault::congestion:
      return "congestion";
    case NetworkFault::fabric:
      return "fabric";
  }
  return "fabric";
}

bool is_accusing(NetworkFault fault) {
  return fault <= NetworkFault::leaf;
}

NetworkDetector::NetworkDetector(std::vector<NetworkPort> ports)
    : state_(std::make_unique<State>(std::move(ports))) {}
NetworkDetector::NetworkDetector(NetworkDetector&&) noexcept = default;
NetworkDetector& NetworkDetector::operator=(NetworkDetector&&) noexcept = default;
NetworkDetector::~NetworkDetector() = default;

std::vector<NetworkFinding> NetworkDetector::add(std::span<const PortMinute> minutes, WallTime time,
                                                 std::span<const NoisyPort> elsewhere) {
  return state_->add(minutes, time, elsewhere);
}

const std::vector<NoisyPort>& NetworkDetector::noisy() const {
  return state_->noisy();
}

}  // namespace autopilot::jobs
