// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "host/storage/filesystems.hpp"

namespace autopilot::checks {

struct RelevantMounts {
  static constexpr std::size_t kMax = 128;

  std::vector<host::Mount> mounts;  // in order of mount point
  std::size_t left_out = 0;         // further relevant mounts beyond kMax
};

// Mounts that hold data, each filesystem once by its shortest mount point: block devices, network mounts, and
// / in any case. Excluded: memory and kernel filesystems, images that are always full and read-only
// (squashfs, iso9660, ...), layers of containers, bind mounts, automount points, FUSE views of a session.
[[nodiscard]] RelevantMounts relevant_mounts(const std::vector<host::Mount>& mounts);

}  // namespace autopilot::checks
