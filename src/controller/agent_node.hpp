// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "kube/reviews.hpp"

namespace autopilot::controller {

// The account of the agents: "system:serviceaccount:<name_space>:autopilot".
[[nodiscard]] std::string agent_account(const std::string& name_space);

// The node of the agent whose token that is. It is the API server's word: it stands in the token, which was
// made for a pod there. denied: it is no agent's, or names no node. Pure.
[[nodiscard]] Result<std::string> node_of_agent(const kube::UserInfo& user, const std::string& account);

}  // namespace autopilot::controller
