// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "config/alert_receivers.hpp"
#include "config/setting.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {

// The setting `alerts` of the agent and of the controller: what it may be, and what it does.
inline constexpr std::string_view kAlertReceiversForm =
    "a list of maps: name, url or url_file, format (alertmanager, json, slack), secret_file, "
    "authorities, min_severity (info, ticket, page)";
inline constexpr std::string_view kAlertReceiversHelp =
    "Receivers of alerts about jobs (docs/alerts.md), at most 16. `url` has the address; `url_file` is "
    "a file with the address, for an address that is a secret. `format`: the API of Alertmanager, a "
    "webhook that gets JSON, or a webhook of Slack. `secret_file`: the key that signs JSON. "
    "`authorities`: PEM file, for a receiver whose certificate is not signed by an authority of the "
    "system. Files are read again every 20 seconds.";

// Reads the list; a problem names the receiver and its line. A list replaces `into` as a whole.
void read_alert_receivers(YamlMap& map, const SettingHead& setting, std::vector<AlertReceiver>& into);
// One entry for each receiver, "alerts.NAME", without the content of files; "alerts" for an empty list.
void show_alert_receivers(const std::vector<AlertReceiver>& receivers, const SettingHead& setting,
                          Shown& shown);

}  // namespace autopilot::config
