// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::simulator::nccl {

// Rendezvous address of the ranks of one communicator, encoded in its id.
struct Place {
  std::uint32_t address = 0;  // IPv4, in network byte order
  std::uint16_t port = 0;     // in host byte order
  std::uint64_t secret = 0;   // authenticates the ranks
};

[[nodiscard]] probes::gpu::nccl::UniqueId to_id(const Place& place);
// nullopt: another library created the id.
[[nodiscard]] std::optional<Place> parse_id(const probes::gpu::nccl::UniqueId& id);

// "127.0.0.1<4711>"
[[nodiscard]] std::string to_text(const Place& place);

}  // namespace autopilot::simulator::nccl
