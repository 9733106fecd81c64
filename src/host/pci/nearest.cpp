// SPDX-License-Identifier: Apache-2.0
#include "host/pci/nearest.hpp"

#include <algorithm>

#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

using Bridges = std::vector<std::string>;

Bridges bridges_above(const Files& files, std::string_view device) {
  return pci_bridges_above(files, device).value_or(Bridges{});
}

}  // namespace

std::vector<std::string> nearest_of(const Files& files, std::string_view device,
                                    std::span<const std::string> others) {
  const Bridges own = bridges_above(files, device);
  std::vector<std::string> nearest;
  std::ptrdiff_t most = 0;
  for (const std::string& other : others) {
    const auto shared = std::ranges::count_if(bridges_above(files, other), [&own](const std::string& bridge) {
      return std::ranges::find(own, bridge) != own.end();
    });
    if (shared == 0 || shared < most) continue;
    if (shared > most) nearest.clear();
    most = shared;
    nearest.push_back(other);
  }
  return nearest;
}

}  // namespace autopilot::host
