// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "config/controller_config.hpp"
#include "config/setting.hpp"

namespace autopilot::config {

// The table of settings of the controller.
using ControllerSetting = SettingRow<ControllerConfig>;

// In the order of the documentation.
[[nodiscard]] std::span<const ControllerSetting> controller_settings();

}  // namespace autopilot::config
