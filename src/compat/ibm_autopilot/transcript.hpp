// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/snapshot.hpp"

namespace autopilot::compat::ibm_autopilot {

// One node of the request.
struct AskedNode {
  std::string node;
  std::string address;  // of its agent: "10.1.0.7"
  std::string url;
  std::string reply;  // verbatim
};

// The complete reply about several nodes, in the format that users search: each node with its reply and
// status, then a summary ordered by name. Without the first line.
[[nodiscard]] std::string transcript(const std::vector<AskedNode>& nodes, Duration took);

// The text in place of a missing reply of a node. Its status is a failure.
[[nodiscard]] std::string no_reply(const std::string& why);

// Prefix of the lines of the network test.
inline constexpr std::string_view kNetworkTag = "[NETWORK] - [IPERF] - [INFO] :";

// For each network a table of received rates in Gbit/s: a row for each sender, a column for each receiver,
// both named "<pod>_on_<node>", or by the node if the agents do not run in pods. "N/A" without a sender,
// "nan" if the measurement failed. Then for each network the mean of all measured rates. Empty without
// measurements.
[[nodiscard]] std::string throughput_tables(const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
