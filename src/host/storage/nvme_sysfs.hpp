// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/storage/nvme.hpp"

namespace autopilot::host {

// Controllers of /sys/class/nvme in order of name; none where the kernel has no NVMe. An attribute that the
// kernel does not give is an empty word.
[[nodiscard]] Result<std::vector<NvmeController>> read_nvme_controllers(const Files& files);

}  // namespace autopilot::host
