// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/yaml.hpp"
#include "host/ethtool/ethtool.hpp"

namespace autopilot::cli {

// An entry of `ethernet_ports` in machine.yaml.
[[nodiscard]] YamlNode port_answers(const Result<host::EthtoolPort>& port);

}  // namespace autopilot::cli
