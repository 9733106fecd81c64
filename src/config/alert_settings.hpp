// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/alert_receivers.hpp"
#include "config/setting.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {

// Reads the list; a problem names the receiver and its line. A list replaces `into` as a whole.
void read_alert_receivers(YamlMap& map, const SettingHead& setting, std::vector<AlertReceiver>& into);
// One entry for each receiver, "alerts.NAME", without the content of files; "alerts" for an empty list.
void show_alert_receivers(const std::vector<AlertReceiver>& receivers, const SettingHead& setting,
                          Shown& shown);

}  // namespace autopilot::config
