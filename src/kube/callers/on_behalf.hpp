// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "kube/callers/guard.hpp"
#include "net/http.hpp"

namespace autopilot::kube {

// Header in which an agent names the user of a request that it sends to another agent: kube::user_text. The
// token stays with the agent that received it; the other agent asks the cluster for the user's permissions.
inline constexpr const char* kOnBehalfOf = "autopilot-on-behalf-of";

// The user that a request is made for; empty: not named. Accepted from agents only: over TLS, from a client
// whose certificate was verified and names the node of an agent. Calls back at once, or later; the request
// may be gone then.
void find_user_told(const CallerRights& rights, const net::HttpRequest& request,
                    std::function<void(const std::string& user_text)> on_found);

}  // namespace autopilot::kube
