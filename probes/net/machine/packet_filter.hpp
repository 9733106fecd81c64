// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/result.hpp"
#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

// What the kernel takes for one socket, whatever the family.
inline constexpr std::size_t kMostPeers = 64;

// From now on the kernel drops every packet to this TCP socket of IPv4 or IPv6 that comes from no address of
// the list of its family, the first one of a connection among them: a stranger gets no answer, and the port
// looks as if nobody were there. Connections that are accepted inherit it. exhausted: more than kMostPeers.
// denied: some kernels want a right for it.
[[nodiscard]] Status accept_only_from(int socket, std::span<const Address> peers);
// Of a connection: whether the other end has one of these addresses.
[[nodiscard]] bool is_from_one_of(int socket, std::span<const Address> peers);

}  // namespace autopilot::probes::net
