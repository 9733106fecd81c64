// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "core/result.hpp"
#include "kube/client.hpp"

namespace autopilot::controller {

// The account of the agents: "system:serviceaccount:<name_space>:autopilot".
[[nodiscard]] std::string agent_account(const std::string& name_space);

// Why a request is not that of an agent.
struct NoAgent {
  int status;  // 401: no token, or nobody's; 403: somebody else's, or one that names no node; 503: nobody
               // tells
  Error why;
};
[[nodiscard]] NoAgent no_token();
// The node of the agent whose token that is. review: what the API server answered about the token, for our
// audience. The node is its word: it stands in the token, which was made for a pod there. Pure.
[[nodiscard]] tl::expected<std::string, NoAgent> node_of_agent(const kube::ApiResult<std::string>& review,
                                                               const std::string& account);

}  // namespace autopilot::controller
