// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/netlink/internet_address.hpp"

namespace autopilot::host {

// How large a packet to that address may be by the entry of the kernel's tables that leads there ("ip route
// ... mtu 1450"). What routers reported about the path beyond, which the kernel remembers for minutes, is no
// part of it. 0: the entry does not say, or there is none.
[[nodiscard]] unsigned route_mtu(const InternetAddress& to);

}  // namespace autopilot::host
