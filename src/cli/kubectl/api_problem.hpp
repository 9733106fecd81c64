// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "kube/client.hpp"

namespace autopilot::cli {

// Describes a request to the API server, for its error text.
struct Asked {
  std::string right;           // "list nodes"
  std::string when_not_there;  // remedy for not found; empty: no remedy
};

// The error with its remedy. Pure.
[[nodiscard]] Error problem_of(const kube::ApiError& error, const Asked& asked);

}  // namespace autopilot::cli
