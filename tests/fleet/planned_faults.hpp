// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::fleet {

// A fault of one node of a fleet. `request` contains its duration.
struct PlannedFault {
  std::string node;
  api::InjectRequest request;
  Duration at{0};  // since every agent has written for the first time
};

// "node=sim-3,fault=xid,subject=gpu/2,magnitude=79,at=10s,for=30s" in any order; node and fault must be
// there. Whether the machine knows such a fault shows when it comes.
[[nodiscard]] Result<PlannedFault> parse_planned_fault(std::string_view text);

// As many nodes as `count` (all, where there are fewer), each once and with a fault of a GPU that evicts, at
// some moment before `within`. The same seed gives the same faults.
[[nodiscard]] std::vector<PlannedFault> draw_faults(std::vector<std::string> nodes, std::size_t count,
                                                    std::uint64_t seed, Duration within);

// "sim-3: xid gpu/2 79, at 10s for 30s"
[[nodiscard]] std::string to_string(const PlannedFault& fault);

}  // namespace autopilot::fleet
