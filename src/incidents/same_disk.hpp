// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/finding.hpp"

namespace autopilot::incidents {

// True if both findings concern one disk, by the names of its parts: a controller, its namespaces and their
// partitions (nvme0, nvme0n1, nvme0n1p2), a disk and its partitions (sda, sda1). The disk of a mount is its
// evidence "source", the disks of an array are its evidence "faulty". Volume names (/dev/mapper/x) identify
// no disk.
[[nodiscard]] bool is_on_same_disk(const Finding& a, const Finding& b);

// True for two arrays whose faulty members have no disk in common; also if only one of them lists faulty
// members.
[[nodiscard]] bool lost_different_disks(const Finding& a, const Finding& b);

}  // namespace autopilot::incidents
