// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace autopilot::host {

// The name of a user in this machine's own list of users. Directory services are not asked: they may hang.
[[nodiscard]] std::optional<std::string> local_user_name(std::uint32_t uid);

}  // namespace autopilot::host
