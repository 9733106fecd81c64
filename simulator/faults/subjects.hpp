// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "machine/machine.hpp"

namespace autopilot::simulator {

// Keys of all subjects of one kind on the machine: "gpu" gives PCI addresses in NVML's order, "amd_gpu" those
// of AMD GPUs, "nvlink" "<gpu>/<link>", "infiniband" "mlx5_0/1", "ethernet" interface names with hardware,
// "disk" NVMe controllers, "block" these and all other disks, "raid" software RAID arrays, "mount" mount
// points with usage, "nfs" mount points of file servers, "host" one empty key.
[[nodiscard]] std::vector<std::string> subject_keys(std::string_view kind, const Machine& machine);

// The key that a text selects: empty the first of its kind, "gpu/3" the fourth, "gpu/<address>" that one,
// "nvlink/3/7" link 7 of the fourth GPU. not_found names the known ones.
[[nodiscard]] Result<std::string> subject_key(std::string_view kind, std::string_view text,
                                              const Machine& machine);

}  // namespace autopilot::simulator
