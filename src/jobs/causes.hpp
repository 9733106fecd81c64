// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// Keys of causes that the engine finds itself. A finding may also have the key of an event ("xid_79",
// "node_lost") or of the failure of a job (decision/failure.hpp).
namespace autopilot::jobs {

inline constexpr std::string_view kHang = "hang";
inline constexpr std::string_view kRegression = "regression";
inline constexpr std::string_view kReplica = "replica";        // an inference replica differs from the others
inline constexpr std::string_view kCongestion = "congestion";  // other jobs fill the network
inline constexpr std::string_view kLossIsNan = "loss_is_nan";
inline constexpr std::string_view kLeaf = "leaf";
inline constexpr std::string_view kNic = "nic";
inline constexpr std::string_view kHost = "host";
inline constexpr std::string_view kStopped = "stopped";  // a process of a rank
// A process waits for a processor although the host has free ones: the limit of its cgroup, or its affinity.
inline constexpr std::string_view kProcessorWait = "processor_wait";
inline constexpr std::string_view kPowerBrake = "power_brake";
inline constexpr std::string_view kThermal = "thermal";
inline constexpr std::string_view kHardwareSlowdown = "hw_slowdown";
inline constexpr std::string_view kEcc = "ecc";
inline constexpr std::string_view kPcie = "pcie";
inline constexpr std::string_view kNvlink = "nvlink";
inline constexpr std::string_view kPowerCap = "power_cap";
inline constexpr std::string_view kClock = "clock";
inline constexpr std::string_view kCompute =
    "compute";  // does less than its peers, and no counter states why

}  // namespace autopilot::jobs
