// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jobs/detectors/network.hpp"
#include "jobs/detectors/peers.hpp"

// What each port of a job shows by itself, beside its rail and its node. Used by NetworkDetector.
namespace autopilot::jobs {

// Ports that are compared: positions in NetworkLayout::ports.
struct NetworkLayout {
  struct Leaf {
    std::string name;
    int rail = 0;
    std::vector<std::uint32_t> ports;
    std::vector<std::uint32_t> others;  // positions in `leaves` of the same rail
  };
  std::vector<NetworkPort> ports;
  std::vector<std::vector<std::uint32_t>> rails;
  std::vector<std::vector<std::uint32_t>> nodes;
  std::vector<Leaf> leaves;  // a leaf for each rail, by name and rail; without ports of unknown leaves
  std::vector<std::size_t> rail_of;  // of each port, in `rails`
};
[[nodiscard]] NetworkLayout make_layout(std::vector<NetworkPort> ports);

// A counter of a port whose growth is a fault if it repeats: errors, or retransmissions.
struct CounterSign {
  bool holds = false;      // in 3 of the last 5 minutes
  bool is_now = false;     // in this minute, or it is unknown
  float recent = 0;        // rate of the last minute that was a hit; 0: no hit in the last 5 minutes
  float peers = kMissing;  // what it was compared with
};

// What holds for one port after a minute, and what its values were compared with (NaN: with no other port).
struct PortSigns {
  bool is_down = false;
  bool is_slow = false;  // current line rate
  bool is_flapping = false;
  bool has_bounced = false;  // in this minute
  CounterSign errors, retransmits;
  bool is_low = false;  // less traffic than the same rail below other leaves, unlike before
  bool is_asymmetric = false;
  bool is_congested = false;  // many congestion notifications or pause frames
  int downs = 0;              // in the last 5 minutes
  float rate_peers = kMissing, cnp_peers = kMissing;
  float traffic = kMissing, traffic_peers = kMissing;  // bytes/s; of the node's rails

  [[nodiscard]] bool is_hard() const { return is_down || is_slow || is_flapping; }
};

class PortHistories {
 public:
  explicit PortHistories(const NetworkLayout& layout);
  // `minutes`: one for each port.
  [[nodiscard]] std::vector<PortSigns> add(const NetworkLayout& layout, std::span<const PortMinute> minutes);

 private:
  struct Counter {
    HitHistory history;
    float last_hit = 0;  // its rate
    int age = 0;         // minutes since then
  };
  struct History {
    Counter errors, retransmits;
    HitHistory low, asymmetric, congested;
    std::array<std::uint8_t, 5> downs{};
    float usual_sum = 0;     // of the ratio of traffic to other leaves, in the first minutes
    std::uint8_t usual = 0;  // minutes in the sum
    bool was_up = false;
  };
  void judge_links(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                   std::vector<PortSigns>& signs);
  void judge_counts(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                    std::vector<PortSigns>& signs);
  static CounterSign judge_counter(float rate, float peers, Counter& counter);
  void judge_nodes(const NetworkLayout& layout, std::vector<PortSigns>& signs);
  void judge_leaves(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                    std::vector<PortSigns>& signs);

  std::vector<History> histories_;
  std::size_t minute_ = 0;
};

}  // namespace autopilot::jobs
