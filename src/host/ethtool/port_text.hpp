// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "host/ethtool/ethtool.hpp"

namespace autopilot::host {

// The answer of the helper about one port, as JSON.
[[nodiscard]] std::string format_ethtool_port(const EthtoolPort& port);
// What format_ethtool_port wrote; anything else is malformed.
[[nodiscard]] Result<EthtoolPort> parse_ethtool_port(std::string_view text);

}  // namespace autopilot::host
