// SPDX-License-Identifier: Apache-2.0
#include "net/bearer_token.hpp"

#include <string_view>

#include "core/parse.hpp"

namespace autopilot::net {

std::string bearer_token(const HttpRequest& request) {
  constexpr std::string_view scheme = "bearer ";
  const auto found = request.headers.find("authorization");
  if (found == request.headers.end() || found->second.size() <= scheme.size()) return {};
  if (to_lower(found->second.substr(0, scheme.size())) != scheme) return {};
  return found->second.substr(scheme.size());
}

}  // namespace autopilot::net
