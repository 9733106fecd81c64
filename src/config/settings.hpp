// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "config/config.hpp"
#include "config/setting.hpp"

namespace autopilot::config {

// THE table of settings of the agent: its file, environment, live reload and docs/configuration.md are made
// from it.
using Setting = SettingRow<Config>;

// In the order of the documentation.
[[nodiscard]] std::span<const Setting> settings();

// docs/configuration.md.
[[nodiscard]] std::string settings_page();

}  // namespace autopilot::config
