// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/result.hpp"
#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

// Limit of the kernel for one socket, for either family.
inline constexpr std::size_t kMostPeers = 64;

// Makes the kernel drop every packet to this TCP socket (IPv4 or IPv6) whose source is not in the list,
// including the first packet of a connection: other clients get no response, as if the port were filtered.
// Accepted connections inherit the filter. exhausted: more than kMostPeers. denied: some kernels require a
// permission.
[[nodiscard]] Status accept_only_from(int socket, std::span<const Address> peers);
// True if the peer of a connection has one of these addresses.
[[nodiscard]] bool is_from_one_of(int socket, std::span<const Address> peers);

}  // namespace autopilot::probes::net
