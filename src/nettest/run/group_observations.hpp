// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/observation.hpp"
#include "nettest/run/group_run.hpp"

// Observations of a run of groups, for its check (src/checks/network/nccl_group.cpp lists the names). Pure.
namespace autopilot::nettest {

inline constexpr std::string_view kGroupCheck = "network.nccl_group";
// Further members of a group are counted, not named.
inline constexpr std::size_t kMostMembersTold = 32;

struct GroupsFound {
  std::vector<GroupFound> groups;
  std::map<std::string, std::string> left_out;  // nodes that took no part, and why
};
[[nodiscard]] Observations group_observations(const GroupsFound& found, Instant ended);
// For fewer than two nodes with GPUs.
[[nodiscard]] Observations no_groups(Instant now);
// "all nodes: 3004 Gbit/s by 64 GPUs of 8 nodes"
[[nodiscard]] std::string group_sentence(const GroupsFound& found);

}  // namespace autopilot::nettest
