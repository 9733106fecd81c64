// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/yaml.hpp"
#include "host/ethtool/ethtool.hpp"

namespace autopilot::host {

// One entry of `ethernet_ports` in machine.yaml.
[[nodiscard]] Result<EthtoolPort> read_ethernet_port(YamlMap map);

}  // namespace autopilot::host
