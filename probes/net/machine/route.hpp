// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

// The interface by which the kernel sends from an address of this machine to another one, by its tables and
// their rules; nothing is sent. Errors of the kernel: it knows no way.
[[nodiscard]] Result<std::string> way_out(const Address& from, const Address& to);

}  // namespace autopilot::probes::net
