// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compat/ibm_autopilot/service/fan_out.hpp"

namespace autopilot::compat::ibm_autopilot {

// `{"node":..,"address":..,"url":..,"statuses":[..],"checks":[..]}`: what the node said, and where it was
// asked. One that said nothing, or nothing of this form, has "error" in the place of "checks".
[[nodiscard]] std::string to_json(const NodeReply& reply);

// `{"nodes":[],"error":..}`: nobody could be asked.
[[nodiscard]] std::string no_replies(const Error& why);

// `{"nodes":[..],"runtimeSeconds":..}`, and `"checks":[..]` with `network`, the JSON of what was asked of the
// network between all of them; empty: nothing.
[[nodiscard]] std::string to_json(const std::vector<NodeReply>& replies, Duration took,
                                  const std::string& network = {});

}  // namespace autopilot::compat::ibm_autopilot
