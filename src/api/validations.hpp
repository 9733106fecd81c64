// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "learning/validation_result.hpp"

// Wire format of GET /v1/validations of openapi.yaml. The rules of v1.hpp apply.
namespace autopilot::api {

inline constexpr const char* kValidationsPath = "/v1/validations";

struct ValidationList {
  std::string node;
  bool is_simulated = false;
  std::size_t waiting = 0;                              // validations that have not ended
  std::vector<learning::ValidationResult> validations;  // newest first
};

[[nodiscard]] std::string to_json(const ValidationList& list);
[[nodiscard]] Result<ValidationList> parse_validations(std::string_view json);

}  // namespace autopilot::api
