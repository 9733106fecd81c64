// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/clock.hpp"

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

}  // namespace autopilot::compat::ibm_autopilot
