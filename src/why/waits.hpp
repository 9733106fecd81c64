// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "why/evidence.hpp"

namespace autopilot::why {

// Name of the evidence that states what a blocked process waits for, and its values.
inline constexpr std::string_view kWaitsFor = "waitsFor";

namespace waits {
inline constexpr std::string_view kNfs = "nfs";
inline constexpr std::string_view kLustre = "lustre";
inline constexpr std::string_view kCeph = "ceph";
inline constexpr std::string_view kFuse = "fuse";
inline constexpr std::string_view kDisk = "disk";
inline constexpr std::string_view kGpu = "gpu";
inline constexpr std::string_view kAdapter = "adapter";  // RDMA: InfiniBand, RoCE, EFA
inline constexpr std::string_view kMemory = "memory";
}  // namespace waits

// True if the error can be the reason why the process is blocked: it concerns what the process waits for, and
// precedes the record of the blocked process by minutes at most. Of a process of which it is not known what
// it waits for, every error of a disk or file server can be. Pure.
[[nodiscard]] bool may_block(const Evidence& error, const Evidence& blocked);

}  // namespace autopilot::why
