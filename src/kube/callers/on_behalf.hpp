// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "kube/callers/guard.hpp"
#include "net/http.hpp"

namespace autopilot::kube {

// The header in which an agent says for whom it asks another one: kube::user_text. The token stays with the
// agent that was given it; the other one asks the cluster itself what that user may.
inline constexpr const char* kOnBehalfOf = "autopilot-on-behalf-of";

// The user that a request is made for, empty: nobody says. Believed of agents alone: a request that came
// inside TLS, from a client whose certificate was verified and names the node of an agent. Calls back at
// once, or later; the request may be gone then.
void find_user_told(const CallerRights& rights, const net::HttpRequest& request,
                    std::function<void(const std::string& user_text)> on_found);

}  // namespace autopilot::kube
