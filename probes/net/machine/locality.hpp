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

// Where the adapter behind an interface sits. An interface that stands on others (a bond, a VLAN) is where
// the first of them by name is. Nothing: the kernel does not say, as of virtual interfaces and machines
// without nodes.
[[nodiscard]] std::optional<Locality> read_locality(const std::string& interface,
                                                    const std::string& sysfs = "/sys");

// Those that this process may run on, in ascending order.
[[nodiscard]] std::vector<int> read_allowed_processors();

// The calling process runs on these processors alone from now on, and what it touches first lies near them.
// denied: this process may run on none of them.
[[nodiscard]] Status run_only_on(const std::vector<int>& processors);

}  // namespace autopilot::probes::net
