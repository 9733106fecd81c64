// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "config/config.hpp"
#include "config/setting.hpp"

namespace autopilot::config {

// The table of the agent's settings. The file reader, environment variables, live reload and
// docs/configuration.md use it.
using Setting = SettingRow<Config>;

// In the order of the documentation.
[[nodiscard]] std::span<const Setting> settings();

// docs/configuration.md.
[[nodiscard]] std::string settings_page();

}  // namespace autopilot::config
