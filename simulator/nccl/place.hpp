// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::simulator::nccl {

// Where the ranks of one communicator meet, which is what its id says.
struct Place {
  std::uint32_t address = 0;  // of IPv4, in the order of the network
  std::uint16_t port = 0;     // in the order of the host
  std::uint64_t secret = 0;   // by which they know each other
};

[[nodiscard]] probes::gpu::nccl::UniqueId to_id(const Place& place);
// Nothing: another library made it.
[[nodiscard]] std::optional<Place> parse_id(const probes::gpu::nccl::UniqueId& id);

// "127.0.0.1<4711>"
[[nodiscard]] std::string to_text(const Place& place);

}  // namespace autopilot::simulator::nccl
