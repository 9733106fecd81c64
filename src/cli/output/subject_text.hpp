// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/subject.hpp"

namespace autopilot::cli {

// Name of a subject in messages: "GPU 3 (0000:61:00.0)", "NVLink 3 of GPU 0000:61:00.0", "mlx5_0 port 1",
// "nvme0n1". Empty for this machine. Pure.
[[nodiscard]] std::string subject_text(const Subject& subject);

}  // namespace autopilot::cli
