// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "kube/client.hpp"

namespace autopilot::cli {

// What was asked of an API server, for who reads the error.
struct Asked {
  std::string right;           // "list nodes"
  std::string when_not_there;  // what helps when the server does not know it; empty: nothing
};

// What went wrong, and what helps. Pure.
[[nodiscard]] Error problem_of(const kube::ApiError& error, const Asked& asked);

}  // namespace autopilot::cli
