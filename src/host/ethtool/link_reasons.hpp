// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace autopilot::host {

// The kernel's numbers for why a link is down (linux/ethtool.h, enum ethtool_link_ext_state and its
// substates), as words. A number that this program does not know is itself: "12".
[[nodiscard]] std::string link_reason(unsigned number);
// What `detail` adds to that reason; empty for 0.
[[nodiscard]] std::string link_detail(unsigned reason, unsigned detail);

}  // namespace autopilot::host
