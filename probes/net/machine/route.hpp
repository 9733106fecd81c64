// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

// The interface that the kernel uses for packets between two addresses, from its routing tables and rules;
// sends nothing. Returns the kernel's error if it has no route.
[[nodiscard]] Result<std::string> way_out(const Address& from, const Address& to);

}  // namespace autopilot::probes::net
