// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "jobs/findings.hpp"
#include "jobs/records.hpp"

// Degradation of the network of one job, from what its ports count.
namespace autopilot::jobs {

// One port that the job's GPUs use. Ports of equal rail are compared with each other.
struct NetworkPort {
  std::string node;
  std::string nic;
  std::string leaf;  // empty: unknown
  int rail = 0;
  float line_rate_bytes_s = kMissing;  // nominal
};

// One port in one minute. Gauges and shares: median of the windows; counts: growth in the minute, as rates a
// minute. NaN or infinite: unknown.
struct PortMinute {
  float tx_bytes_s = kMissing, rx_bytes_s = kMissing;
  float rate_bytes_s = kMissing;  // current line rate
  float up = kMissing;            // share of the minute
  float link_downed = kMissing;   // times, from the counter or from events, whichever is more
  float errors = kMissing, retransmits = kMissing, cnp = kMissing, pause = kMissing;
  int jobs_on_leaf = 1;  // jobs with traffic below the port's leaf
};

enum class NetworkFault : std::uint8_t {
  link_down,    // the port is not active
  link_speed,   // the port runs below its nominal rate, or below its rail
  flapping,     // the link went down at least twice within 5 minutes
  retransmits,  // retransmissions or errors far above the rail, in 3 of 5 minutes
  leaf,  // at least 30 % of the nodes below one leaf have such a fault, or low traffic, on the same rail
  asymmetric,   // the port carries less than the other rails of its node, unlike on other nodes: a suspicion
  link_bounce,  // the link went down once: tolerated
  congestion,   // other jobs fill the leaf: no node is at fault
  fabric,       // faults below several leaves at once: no node or leaf is named
};
[[nodiscard]] std::string_view to_string(NetworkFault fault);
// True: the fault accuses its culprit. False: for information, or evidence beside other signs.
[[nodiscard]] bool is_accusing(NetworkFault fault);

// A port that had errors or retransmissions far above its rail within the last 5 minutes.
struct NoisyPort {
  std::string node;
  std::string nic;
  std::string leaf;
  float errors = 0, retransmits = 0;                     // rate of the last minute that was a hit; 0: none
  bool holds_errors = false, holds_retransmits = false;  // in 3 of 5 minutes
};

struct NetworkFinding {
  NetworkFault fault{};
  Entity
      culprit;  // nic or leaf; unlocalised for congestion and fabric; for asymmetric and link_bounce: the NIC
  std::vector<Evidence> evidence;  // 1 to kMaxEvidence
  static constexpr std::size_t kMaxEvidence = 8;
};

// Keeps the last minutes of each port. Not thread-safe.
class NetworkDetector {
 public:
  static constexpr std::size_t kMaxPorts = 1U << 18U;  // more are left out
  explicit NetworkDetector(std::vector<NetworkPort> ports);
  NetworkDetector(NetworkDetector&&) noexcept;
  NetworkDetector& operator=(NetworkDetector&&) noexcept;
  NetworkDetector(const NetworkDetector&) = delete;
  NetworkDetector& operator=(const NetworkDetector&) = delete;
  ~NetworkDetector();

  // A complete minute that ends at `time`: one entry for each port, in the order of the constructor; missing
  // entries are unknown. `elsewhere`: noisy ports below the same leaves, on nodes without a rank of the job.
  // Returns what holds after this minute, by fault, then by port. While faults of ports add up to one of a
  // leaf or of the fabric, or for some minutes may still do so, the ports are not reported by themselves.
  // O(ports * log(ports)).
  [[nodiscard]] std::vector<NetworkFinding> add(std::span<const PortMinute> minutes, WallTime time,
                                                std::span<const NoisyPort> elsewhere = {});
  // The job's own, after the last minute. Without those of unknown leaves.
  [[nodiscard]] const std::vector<NoisyPort>& noisy() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::jobs
