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

// What holds for one port after a minute, and what its values were compared with (NaN: with no other port).
struct PortSigns {
  bool is_down = false;
  bool is_slow = false;  // current line rate
  bool is_flapping = false;
  bool has_bounced = false;  // in this minute
  bool has_errors = false;
  bool retransmits = false;
  bool is_noisy_now = false;  // errors or retransmissions in this minute, or unknown
  bool is_low = false;        // less traffic than the same rail below other leaves, unlike before
  bool is_asymmetric = false;
  bool is_congested = false;  // many congestion notifications or pause frames
  int downs = 0;              // in the last 5 minutes
  float rate_peers = kMissing, errors_peers = kMissing, retransmits_peers = kMissing, cnp_peers = kMissing;
  float traffic = kMissing, traffic_peers = kMissing;  // bytes/s; of the node's rails

  [[nodiscard]] bool is_hard() const { return is_down || is_slow || is_flapping; }
};

class PortHistories {
 public:
  explicit PortHistories(const NetworkLayout& layout);
  // `minutes`: one for each port.
  [[nodiscard]] std::vector<PortSigns> add(const NetworkLayout& layout, std::span<const PortMinute> minutes);

 private:
  struct History {
    HitHistory errors, retransmits, low, asymmetric, congested;
    std::array<std::uint8_t, 5> downs{};
    float usual_sum = 0;     // of the ratio of traffic to other leaves, in the first minutes
    std::uint8_t usual = 0;  // minutes in the sum
    bool was_up = false;
  };
  void judge_links(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                   std::vector<PortSigns>& signs);
  void judge_counts(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                    std::vector<PortSigns>& signs);
  void judge_nodes(const NetworkLayout& layout, std::vector<PortSigns>& signs);
  void judge_leaves(const NetworkLayout& layout, std::span<const PortMinute> minutes,
                    std::vector<PortSigns>& signs);

  std::vector<History> histories_;
  std::size_t minute_ = 0;
};

}  // namespace autopilot::jobs
