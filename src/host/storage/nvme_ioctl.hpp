// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"

namespace autopilot::host {

// The 512 bytes of log page 02h from /dev/<controller>. Blocks as long as the controller does. denied: no
// CAP_SYS_ADMIN; not_found: no device file here.
[[nodiscard]] Result<std::string> read_nvme_health_page(const std::string& controller);

}  // namespace autopilot::host
