// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/result.hpp"
#include "host/nccl_ras/ras_answer.hpp"

namespace autopilot::host {

// The text form, which reports only communicators with differences. Ranks that it does not name have the
// count of the largest group of ranks, if there is only one such group. Errors as parse_ras_answer.
[[nodiscard]] Result<RasAnswer> parse_ras_text(std::string_view text);

}  // namespace autopilot::host
