// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "core/result.hpp"
#include "kube/client.hpp"

namespace autopilot::controller {

// The account of the agents: "system:serviceaccount:<name_space>:autopilot".
[[nodiscard]] std::string agent_account(const std::string& name_space);

// Why the caller is not accepted as an agent.
struct NoAgent {
  int status;  // HTTP status. 401: missing or unknown token; 403: not the token of an agent, or a token
               // without a node; 503: the API server does not answer
  Error why;
};
[[nodiscard]] NoAgent no_token();
// The node of the agent that sent the token. review: the API server's response to the TokenReview for our
// audience. The API server reads the node from the token, which it issued for a pod on that node. Pure.
[[nodiscard]] tl::expected<std::string, NoAgent> node_of_agent(const kube::ApiResult<std::string>& review,
                                                               const std::string& account);

}  // namespace autopilot::controller
