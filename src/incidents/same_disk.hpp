// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/finding.hpp"

namespace autopilot::incidents {

// Both are about one disk, as the names of its parts say: a controller, its namespaces and their partitions
// (nvme0, nvme0n1, nvme0n1p2), a disk and its partitions (sda, sda1). A mount lies on its evidence "source",
// an array on those of its members that are "faulty" there. Names of volumes (/dev/mapper/x) tell no disk.
[[nodiscard]] bool is_on_same_disk(const Finding& a, const Finding& b);

// Of two arrays: both say which members are faulty and have no disk of these in common, or one alone says it.
[[nodiscard]] bool lost_different_disks(const Finding& a, const Finding& b);

}  // namespace autopilot::incidents
