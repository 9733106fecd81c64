// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::compat::ibm_autopilot {

// One node that was asked.
struct AskedNode {
  std::string node;
  std::string address;  // of its agent: "10.1.0.7"
  std::string url;
  std::string reply;  // verbatim
};

// The whole answer to a question to several nodes, as people search it: who is asked, what each replied and
// the words of its status, and a summary of these in order of names. Everything but the line before.
[[nodiscard]] std::string transcript(const std::vector<AskedNode>& nodes, Duration took);

// What stands in the place of the reply of a node that gave none. Its status is one that failed.
[[nodiscard]] std::string no_reply(const std::string& why);

}  // namespace autopilot::compat::ibm_autopilot
