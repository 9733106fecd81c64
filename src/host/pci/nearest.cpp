// SPDX-License-Identifier: Apache-2.0
#include "host/pci/nearest.hpp"

#include <algorithm>
#include <vector>

#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

using Bridges = std::vector<std::string>;

Bridges bridges_above(const Files& files, std::string_view device) {
  return pci_bridges_above(files, device).value_or(Bridges{});
}

}  // namespace

std::string nearest_of(const Files& files, std::string_view device, std::span<const std::string> others) {
  const Bridges own = bridges_above(files, device);
  std::string nearest;
  std::ptrdiff_t most = 0;
  for (const std::string& other : others) {
    const auto shared = std::ranges::count_if(bridges_above(files, other), [&own](const std::string& bridge) {
      return std::ranges::find(own, bridge) != own.end();
    });
    if (shared <= most) continue;
    most = shared;
    nearest = other;
  }
  return nearest;
}

}  // namespace autopilot::host
