// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "jobs/detectors/peers.hpp"

namespace autopilot::jobs {

namespace {

// Z 3.5, shortfall 0.08 (clock 0.05), floor 0.01 and 8 of 10 minutes: reference for in-flight detection,
// 2a.2. Absolute floors are ours: 3.5 of them are the smallest difference that matters where the median is
// near 0, such as 5 % of the time throttled. Rates of counters: above 10 a minute and 5 times the peers
// (2a.7).
constexpr float kFiveTimes = 4.0F;
constexpr float kHalfMore = 0.5F;

using enum Sign;
using enum Worse;
using enum Comparison;
using M = Metric;
using F = Family;

constexpr std::array kPeerRules{
    PeerRule{M::gpu_sm_clock_mhz, low, "sm_clock_low", F::clock, fault, robust, 3.5F, 0.05F, 0.01F, 5},
    PeerRule{M::gpu_power_w, low, "power_low", F::progress, idle, robust, 3.5F, 0.08F, 0.01F, 4},
    PeerRule{M::gpu_util, low, "util_low", F::progress, idle, robust, 3.5F, 0.05F, 0.01F, 0.01F},
    PeerRule{M::gpu_tensor, low, "tensor_low", F::progress, waiting, robust, 3.5F, 0.08F, 0.01F, 0.005F},
    PeerRule{M::gpu_tensor, high, "tensor_high", F::progress, late, robust, 3.5F, 0.08F, 0.01F, 0.005F},
    PeerRule{M::gpu_mem_bytes, high, "mem_bytes_high", F::progress, work, robust, 3.5F, 0.08F, 0.01F, 1e8F},
    PeerRule{M::gpu_temp_c, high, "temp_high", F::clock, hint, robust, 3.5F, 0.08F, 0.01F, 2.5F},
    PeerRule{M::gpu_mem_temp_c, high, "mem_temp_high", F::clock, hint, robust, 3.5F, 0.08F, 0.01F, 2.5F},
    PeerRule{M::gpu_throttle_power_cap, high, "throttle_power_cap", F::clock, hint, robust, 3.5F, kHalfMore,
             0.01F, 0.03F},
    PeerRule{M::gpu_throttle_thermal, high, "throttle_thermal", F::clock, fault, robust, 3.5F, kHalfMore,
             0.01F, 0.015F, kQuick},
    PeerRule{M::gpu_throttle_hw, high, "throttle_hw", F::clock, fault, robust, 3.5F, kHalfMore, 0.01F, 0.015F,
             kQuick},
    PeerRule{M::gpu_throttle_brake, high, "throttle_brake", F::clock, fault, robust, 3.5F, kHalfMore, 0.01F,
             0.015F, kQuick},
    PeerRule{M::gpu_pcie_gen, low, "pcie_gen_low", F::pcie, fault, exact, 3.5F, 0, 0, 0.5F, kQuick},
    PeerRule{M::gpu_pcie_width, low, "pcie_width_low", F::pcie, fault, exact, 3.5F, 0, 0, 0.5F, kQuick},
    PeerRule{M::gpu_pcie_replays, high, "pcie_replays_high", F::pcie, hint, robust, 3.5F, kFiveTimes, 0.01F,
             3},
    PeerRule{M::gpu_nvlink_bytes_s, low, "nvlink_bytes_low", F::nvlink, waiting, robust, 3.5F, 0.08F, 0.01F,
             1e7F},
    PeerRule{M::gpu_nvlink_errors, high, "nvlink_errors_high", F::nvlink, fault, robust, 3.5F, kFiveTimes,
             0.01F, 1},
    // Bursts of corrected errors are common on healthy parts and reach 1e5 a day (4.2): never alone.
    PeerRule{M::gpu_ecc_corrected, high, "ecc_corrected_high", F::ecc, hint, robust, 3.5F, kFiveTimes, 0.01F,
             20},
    PeerRule{M::gpu_ecc_uncorrected, high, "ecc_uncorrected", F::ecc, fault, exact, 3.5F, 0, 0, 0.5F, kOnce},

    PeerRule{M::process_cpu, low, "process_cpu_low", F::host, hint, robust, 3.5F, 0.15F, 0.02F, 0.02F},
    PeerRule{M::process_disk_sleep, high, "disk_sleep", F::host, hint, robust, 3.5F, kHalfMore, 0.01F, 0.03F},
    PeerRule{M::process_run_delay, high, "run_delay_high", F::host, delayed, robust, 3.5F, kHalfMore, 0.01F,
             0.03F},
    PeerRule{M::process_stopped, high, "process_stopped", F::host, fault, robust, 3.5F, kHalfMore, 0.01F,
             0.03F, kQuick},

    PeerRule{M::nic_tx_bytes_s, low, "nic_tx_low", F::nic, waiting, robust, 3.5F, 0.1F, 0.01F, 1e7F},
    PeerRule{M::nic_rx_bytes_s, low, "nic_rx_low", F::nic, waiting, robust, 3.5F, 0.1F, 0.01F, 1e7F},
    PeerRule{M::nic_up, low, "nic_down", F::nic, fault, exact, 3.5F, 0, 0, 0.05F, kRepeated},
    PeerRule{M::nic_rate_bytes_s, low, "nic_rate_low", F::nic, fault, exact, 3.5F, 0, 0.02F, 1e6F, kQuick},
    PeerRule{M::nic_link_downed, high, "nic_link_downed", F::nic, fault, exact, 3.5F, 0, 0, 0.5F, kRepeated},
    PeerRule{M::nic_errors, high, "nic_errors_high", F::nic, fault, robust, 3.5F, kFiveTimes, 0.01F, 3},
    PeerRule{M::nic_retransmits, high, "nic_retransmits_high", F::nic, fault, robust, 3.5F, kFiveTimes, 0.01F,
             3},
    PeerRule{M::nic_cnp, high, "nic_cnp_high", F::nic, hint, robust, 3.5F, kFiveTimes, 0.01F, 300},
    PeerRule{M::nic_pause, high, "nic_pause_high", F::nic, hint, robust, 3.5F, kFiveTimes, 0.01F, 300},

    PeerRule{M::host_cpu, high, "host_cpu_high", F::host, hint, robust, 3.5F, kHalfMore, 0.01F, 0.05F},
    PeerRule{M::host_run_queue, high, "run_queue_high", F::host, hint, robust, 3.5F, kHalfMore, 0.01F, 0.15F},
    PeerRule{M::host_psi_cpu, high, "psi_cpu_high", F::host, hint, robust, 3.5F, kHalfMore, 0.01F, 0.03F},
    PeerRule{M::host_psi_io, high, "psi_io_high", F::host, hint, robust, 3.5F, kHalfMore, 0.01F, 0.03F},
    PeerRule{M::host_psi_memory, high, "psi_memory_high", F::host, hint, robust, 3.5F, kHalfMore, 0.01F,
             0.03F},
    PeerRule{M::host_inlet_c, high, "inlet_high", F::host, hint, robust, 3.5F, 0.08F, 0.01F, 1.5F},
};

constexpr bool is_usable(const PeerRule& rule) {
  const HistoryRule& history = rule.history;
  return rule.floor_absolute > 0 && rule.floor_relative >= 0 && rule.z > 0 && history.clear >= 0 &&
         history.clear < history.k && history.k <= history.m && history.m <= 32;
}
static_assert(std::ranges::all_of(kPeerRules, is_usable));

}  // namespace

std::span<const PeerRule> peer_rules() {
  return kPeerRules;
}

const PeerRule* find_peer_rule(std::string_view signal) {
  const auto* found = std::ranges::find(kPeerRules, signal, &PeerRule::signal);
  return found == kPeerRules.end() ? nullptr : &*found;
}

}  // namespace autopilot::jobs
