// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/files/files.hpp"

namespace autopilot::host {

// Those of them that have most bridges in common with the device, all by PCI address. Empty: none is below
// one that the device is below, or the kernel does not tell.
[[nodiscard]] std::vector<std::string> nearest_of(const Files& files, std::string_view device,
                                                  std::span<const std::string> others);

}  // namespace autopilot::host
