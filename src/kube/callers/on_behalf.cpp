// SPDX-License-Identifier: Apache-2.0
#include "kube/callers/on_behalf.hpp"

#include <utility>

namespace autopilot::kube {

void find_user_told(const CallerRights& rights, const net::HttpRequest& request,
                    std::function<void(const std::string& user_text)> on_found) {
  const auto told = request.headers.find(kOnBehalfOf);
  if (told == request.headers.end() || !may_be_of_agent(rights, request)) return on_found("");
  rights.find_agent(request.peer.names, [user_text = told->second, on_found = std::move(on_found)](
                                            const Status& is_agent) { on_found(is_agent ? user_text : ""); });
}

}  // namespace autopilot::kube
