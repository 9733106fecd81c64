// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// What the lines of its network test begin with.
inline constexpr std::string_view kNetworkTag = "[NETWORK] - [IPERF] - [INFO] :";

// Of each network a table of what arrived, in Gbit/s: a line for each node that sends, a column for each that
// receives, "<pod>_on_<node>" both, or the node alone where the agents are in no pods; "N/A" where nobody
// sent, "nan" where it could not be measured. Then of each network the mean of all that was measured. Empty
// where nothing was.
[[nodiscard]] std::string throughput_tables(const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
