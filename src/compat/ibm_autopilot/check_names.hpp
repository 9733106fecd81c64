// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autopilot::compat::ibm_autopilot {

// What a parameter means that was not set, and what stands for the checks that run from time to time.
inline constexpr std::string_view kUnset = "None";
inline constexpr std::string_view kAll = "all";

// A check as IBM Autopilot calls it.
struct CheckName {
  std::string_view name;        // "remapped": in lists, and the path where it is asked for alone
  std::string_view check;       // ours that answers
  std::string_view preamble;    // what the reply at its own path begins with; see preamble_of
  bool is_active = false;       // puts load on what it tests: its last result is the answer
  std::string_view other = {};  // ours as well; the one whose test ended last answers
};

// The beginning of the reply at its own path. pcie_bandwidth_limit: GB/s below which a GPU is slow.
[[nodiscard]] std::string preamble_of(const CheckName& check, double pcie_bandwidth_limit);

// What the path /invasive answers. prefix, level: of the labels that tell the result. why_not: in a sentence
// why no test begins; empty: one does.
[[nodiscard]] std::string invasive_text(std::string_view prefix, int level, std::string_view why_not);

// Its test of the network between all nodes: asked for once, and not of each node.
inline constexpr std::string_view kNetworkTest = "iperf";
// Where nobody tests it: the answer to who asks for a part of it.
inline constexpr std::string_view kNetworkTestText = "check not supported: iperf\n";

// Null where there is no such check. Names are case sensitive.
[[nodiscard]] const CheckName* find_check(std::string_view name);
[[nodiscard]] const std::vector<CheckName>& check_names();

// The names of a list, in its order; one that has "all" anywhere is `periodic`.
[[nodiscard]] std::vector<std::string> named_checks(std::string_view list,
                                                    const std::vector<std::string>& periodic);

}  // namespace autopilot::compat::ibm_autopilot
