// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "net/http.hpp"

namespace autopilot::net {

[[nodiscard]] inline net::HttpResponse json_response(std::string body, int status = 200) {
  return {status, "application/json", std::move(body), {}};
}

[[nodiscard]] inline net::HttpResponse text_response(std::string body, int status = 200) {
  return {status, "text/plain; charset=utf-8", std::move(body), {}};
}

}  // namespace autopilot::net
