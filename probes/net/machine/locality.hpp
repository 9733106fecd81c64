// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace autopilot::probes::net {

struct Locality {
  int numa_node = 0;
  std::vector<int> processors;
};

// NUMA location of the adapter behind an interface. For an interface on top of others (a bond, a VLAN), the
// location of the first of them by name. nullopt: unknown, as for virtual interfaces and machines without
// NUMA.
[[nodiscard]] std::optional<Locality> read_locality(const std::string& interface,
                                                    const std::string& sysfs = "/sys");

// Processors that this process is allowed to use, in ascending order.
[[nodiscard]] std::vector<int> read_allowed_processors();

// Restricts the calling process to these processors, so that memory it touches first is local to them.
// denied: this process is not allowed to use any of them.
[[nodiscard]] Status run_only_on(const std::vector<int>& processors);

}  // namespace autopilot::probes::net
