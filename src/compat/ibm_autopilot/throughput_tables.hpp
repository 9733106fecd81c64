// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// Prefix of the lines of the network test.
inline constexpr std::string_view kNetworkTag = "[NETWORK] - [IPERF] - [INFO] :";

// For each network a table of received rates in Gbit/s: a row for each sender, a column for each receiver,
// both named "<pod>_on_<node>", or by the node if the agents do not run in pods. "N/A" without a sender,
// "nan" if the measurement failed. Then for each network the mean of all measured rates. Empty without
// measurements.
[[nodiscard]] std::string throughput_tables(const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
