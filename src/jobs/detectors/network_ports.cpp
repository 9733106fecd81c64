// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/network_ports.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace autopilot::jobs {

namespace {

// Reference for in-flight detection, 2a.7: 10 a minute, 5 times the peers, 3 of 5 minutes; 0.9 of the node's
// rails in 8 of 10 minutes; 2 downs in 5 minutes.
constexpr float kLeastRate = 10;
constexpr float kTimesPeers = 5;
constexpr HistoryRule kSoft{3, 5, 0};
constexpr HistoryRule kAsymmetric{8, 10, 2};
constexpr float kLowShare = 0.9F;
constexpr int kFlaps = 2;
// Ours, for notifications and pause frames: some come in each step; 1000 a minute is far above that.
constexpr float kLeastCnp = 1000;
// Rates of equal ports differ by rounding only; the next lower rate is at most 0.8.
constexpr float kEqualRate = 0.95F;
// Less traffic than this is not compared, bytes/s.
constexpr float kBusy = 5e7F;
constexpr std::size_t kLeastRails = 3;
constexpr std::size_t kLeastNodes = 3;
constexpr std::uint8_t kUsualMinutes = 10;
constexpr int kRecentMinutes = 5;  // as long as kSoft remembers

// The median; NaN without values. Reorders.
float port_median(std::vector<float>& values) {
  if (values.empty()) return kMissing;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Value>
std::vector<float> known_of(std::span<const std::uint32_t> ports, Value value) {
  std::vector<float> known;
  known.reserve(ports.size());
  for (const std::uint32_t port : ports)
    if (const float each = value(port); std::isfinite(each)) known.push_back(each);
  return known;
}

// The median of the other values of a sorted list; NaN without others.
float median_without(const std::vector<float>& sorted, float value) {
  if (sorted.size() < 2) return kMissing;
  const std::size_t middle = (sorted.size() - 1) / 2;
  const auto self = static_cast<std::size_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
  return sorted[middle < self ? middle : middle + 1];
}

float traffic_of(const PortMinute& minute) {
  const bool has_tx = std::isfinite(minute.tx_bytes_s);
  const bool has_rx = std::isfinite(minute.rx_bytes_s);
  if (!has_tx && !has_rx) return kMissing;
  return (has_tx ? minute.tx_bytes_s : 0) + (has_rx ? minute.rx_bytes_s : 0);
}

// A rate of events is a hit far above the peers; without peers, above the least rate.
Minute judge_rate(float rate, float peers, float least) {
  if (!std::isfinite(rate)) return Minute::unknown;
  const float threshold = std::isfinite(peers) ? std::max(least, kTimesPeers * peers) : least;
  return rate > threshold ? Minute::hit : Minute::clear;
}

Minute either(Minute left, Minute right) {
  if (left == Minute::hit || right == Minute::hit) return Minute::hit;
  return left == Minute::clear || right == Minute::clear ? Minute::clear : Minute::unknown;
}

}  // namespace

NetworkLayout make_layout(std::vector<NetworkPort> ports) {
  NetworkLayout layout;
  if (ports.size() > NetworkDetector::kMaxPorts) ports.resize(NetworkDetector::kMaxPorts);
  layout.ports = std::move(ports);
  std::map<int, std::vector<std::uint32_t>> rails;
  std::map<std::string_view, std::vector<std::uint32_t>> nodes;
  std::map<std::pair<std::string_view, int>, std::vector<std::uint32_t>> leaves;
  for (std::uint32_t at = 0; at < layout.ports.size(); ++at) {
    const NetworkPort& port = layout.ports[at];
    rails[port.rail].push_back(at);
    nodes[port.node].push_back(at);
    if (!port.leaf.empty()) leaves[{port.leaf, port.rail}].push_back(at);
  }
  layout.rail_of.resize(layout.ports.size());
  for (auto& [number, members] : rails) {
    for (const std::uint32_t port : members)
      layout.rail_of[port] = layout.rails.size();
    layout.rails.push_back(std::move(members));
  }
  for (auto& [name, members] : nodes)
    layout.nodes.push_back(std::move(members));
  std::map<int, std::vector<std::uint32_t>> leaves_of_rail;
  for (auto& [key, members] : leaves) {
    leaves_of_rail[key.second].push_back(static_cast<std::uint32_t>(layout.leaves.size()));
    layout.leaves.push_back({std::string(key.first), key.second, std::move(members), {}});
  }
  for (std::uint32_t at = 0; at < layout.leaves.size(); ++at)
    for (const std::uint32_t other : leaves_of_rail[layout.leaves[at].rail])
      if (other != at) layout.leaves[at].others.push_back(other);
  return layout;
}

PortHistories::PortHistories(const NetworkLayout& layout) : histories_(layout.ports.size()) {}

std::vector<PortSigns> PortHistories::add(const NetworkLayout& layout, std::span<const PortMinute> minutes) {
  std::vector<PortSigns> signs(layout.ports.size());
  for (std::size_t port = 0; port < signs.size(); ++port)
    signs[port].traffic = traffic_of(minutes[port]);
  judge_links(layout, minutes, signs);
  judge_counts(layout, minutes, signs);
  judge_nodes(layout, signs);
  judge_leaves(layout, minutes, signs);
  ++minute_;
  return signs;
}

void PortHistories::judge_links(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                                std::vector<PortSigns>& signs) {
  for (const std::vector<std::uint32_t>& rail : layout.rails) {
    std::vector<float> rates = known_of(rail, [&](std::uint32_t port) { return minutes[port].rate_bytes_s; });
    std::vector<float> ups = known_of(rail, [&](std::uint32_t port) { return minutes[port].up; });
    const float rail_rate = rates.size() > 1 ? port_median(rates) : kMissing;
    const bool is_rail_up = port_median(ups) >= 0.5F;
    for (const std::uint32_t port : rail) {
      const PortMinute& minute = minutes[port];
      History& history = histories_[port];
      PortSigns& sign = signs[port];
      const float nominal = layout.ports[port].line_rate_bytes_s;
      // A port that has never been up, like its whole rail, is not plugged in.
      sign.is_down = std::isfinite(minute.up) && minute.up < 0.5F && (history.was_up || is_rail_up);
      history.was_up = history.was_up || minute.up >= 0.5F;
      sign.rate_peers = std::isfinite(rail_rate) ? rail_rate : nominal;
      // A node with slower NICs than the others is as it should be.
      sign.is_slow = !sign.is_down && std::isfinite(minute.rate_bytes_s) &&
                     minute.rate_bytes_s < kEqualRate * sign.rate_peers &&
                     !(minute.rate_bytes_s >= kEqualRate * nominal);
      const float downs =
          std::isfinite(minute.link_downed) ? std::clamp(minute.link_downed, 0.0F, 255.0F) : 0;
      history.downs[minute_ % history.downs.size()] = static_cast<std::uint8_t>(downs);
      for (const std::uint8_t each : history.downs)
        sign.downs += each;
      sign.has_bounced = downs >= 1;
      sign.is_flapping = sign.downs >= kFlaps;
    }
  }
}

CounterSign PortHistories::judge_counter(float rate, float peers, Counter& counter) {
  const Minute minute = judge_rate(rate, peers, kLeastRate);
  CounterSign sign{.holds = counter.history.add(minute, kSoft),
                   .is_now = minute != Minute::clear,
                   .recent = 0,
                   .peers = peers};
  counter.age = minute == Minute::hit ? 0 : std::min(counter.age + 1, kRecentMinutes);
  if (minute == Minute::hit) counter.last_hit = rate;
  if (counter.age < kRecentMinutes) sign.recent = counter.last_hit;
  return sign;
}

void PortHistories::judge_counts(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                                 std::vector<PortSigns>& signs) {
  const auto judge = [&](float PortMinute::*rate, Counter History::*counter, CounterSign PortSigns::*sign) {
    for (const std::vector<std::uint32_t>& rail : layout.rails) {
      std::vector<float> known = known_of(rail, [&](std::uint32_t port) { return minutes[port].*rate; });
      std::ranges::sort(known);
      for (const std::uint32_t port : rail) {
        const float value = minutes[port].*rate;
        const float peers = std::isfinite(value) ? median_without(known, value) : kMissing;
        signs[port].*sign = judge_counter(value, peers, histories_[port].*counter);
      }
    }
  };
  judge(&PortMinute::errors, &History::errors, &PortSigns::errors);
  judge(&PortMinute::retransmits, &History::retransmits, &PortSigns::retransmits);
}

void PortHistories::judge_nodes(const NetworkLayout& layout, std::vector<PortSigns>& signs) {
  std::vector<float> ratios(signs.size(), kMissing);  // to the node's rails
  for (const std::vector<std::uint32_t>& node : layout.nodes) {
    std::vector<float> traffic = known_of(node, [&](std::uint32_t port) { return signs[port].traffic; });
    const bool is_comparable = traffic.size() >= kLeastRails;
    const float median = port_median(traffic);
    if (!is_comparable || !(median > kBusy)) continue;
    for (const std::uint32_t port : node) {
      signs[port].traffic_peers = median;
      ratios[port] = signs[port].traffic / median;
    }
  }
  for (const std::vector<std::uint32_t>& rail : layout.rails) {
    std::vector<float> known = known_of(rail, [&](std::uint32_t port) { return ratios[port]; });
    // A rail that carries less on all nodes does so because of the program.
    const float usual = known.size() >= kLeastNodes ? std::min(1.0F, port_median(known)) : 1.0F;
    for (const std::uint32_t port : rail) {
      Minute minute = Minute::unknown;
      if (std::isfinite(ratios[port]))
        minute = ratios[port] < kLowShare * usual ? Minute::hit : Minute::clear;
      signs[port].is_asymmetric = histories_[port].asymmetric.add(minute, kAsymmetric);
    }
  }
}

void PortHistories::judge_leaves(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                                 std::vector<PortSigns>& signs) {
  std::vector<float> traffic, cnp, pause;  // medians of each leaf
  for (const NetworkLayout::Leaf& leaf : layout.leaves) {
    std::vector<float> known = known_of(leaf.ports, [&](std::uint32_t port) { return signs[port].traffic; });
    traffic.push_back(port_median(known));
    known = known_of(leaf.ports, [&](std::uint32_t port) { return minutes[port].cnp; });
    cnp.push_back(port_median(known));
    known = known_of(leaf.ports, [&](std::uint32_t port) { return minutes[port].pause; });
    pause.push_back(port_median(known));
  }
  for (const NetworkLayout::Leaf& leaf : layout.leaves) {
    std::vector<float> known = known_of(leaf.others, [&](std::uint32_t other) { return traffic[other]; });
    const float traffic_elsewhere = port_median(known);
    known = known_of(leaf.others, [&](std::uint32_t other) { return cnp[other]; });
    const float cnp_elsewhere = port_median(known);
    known = known_of(leaf.others, [&](std::uint32_t other) { return pause[other]; });
    const float pause_elsewhere = port_median(known);
    for (const std::uint32_t port : leaf.ports) {
      History& history = histories_[port];
      signs[port].cnp_peers = cnp_elsewhere;
      signs[port].is_congested =
          history.congested.add(either(judge_rate(minutes[port].cnp, cnp_elsewhere, kLeastCnp),
                                       judge_rate(minutes[port].pause, pause_elsewhere, kLeastCnp)),
                                kSoft);
      const float ratio = traffic_elsewhere > kBusy ? signs[port].traffic / traffic_elsewhere : kMissing;
      Minute minute = Minute::unknown;
      if (std::isfinite(ratio) && history.usual < kUsualMinutes) {
        history.usual_sum += ratio;
        ++history.usual;
      } else if (std::isfinite(ratio)) {
        // Stages differ in traffic: a port is compared with its own share in the job's first minutes.
        const float usual = history.usual_sum / static_cast<float>(kUsualMinutes);
        minute = ratio < kLowShare * usual ? Minute::hit : Minute::clear;
      }
      signs[port].is_low = history.low.add(minute, kSoft);
    }
  }
}

}  // namespace autopilot::jobs
