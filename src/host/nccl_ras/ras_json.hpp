// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "host/nccl_ras/ras_answer.hpp"

namespace autopilot::host {

// The JSON form. Errors as parse_ras_answer.
[[nodiscard]] Result<RasAnswer> parse_ras_json(std::string_view text);

// The text with a comma wherever a value is followed by another value or by a name.
[[nodiscard]] std::string with_missing_commas(std::string_view text);

}  // namespace autopilot::host
