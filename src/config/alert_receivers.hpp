// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace autopilot::config {

// Receivers of alerts about jobs: the setting `alerts` of the agent and of the controller (docs/alerts.md).

enum class AlertFormat : std::uint8_t { alertmanager, json, slack };
[[nodiscard]] std::string_view to_string(AlertFormat format);

// Alerts below it are not sent. The order is that of severity.
enum class AlertLevel : std::uint8_t { info, ticket, page };
[[nodiscard]] std::string_view to_string(AlertLevel level);

// One receiver. Files are absolute paths, read again every 20 s; their content is never logged.
struct AlertReceiver {
  std::string name;      // letters, digits, '-', '.', '_'; each once
  std::string url;       // http or https, or empty
  std::string url_file;  // file with the URL, if the URL itself is a secret; or empty. One of both is set
  AlertFormat format = AlertFormat::alertmanager;
  std::string secret_file;  // key of the signature of a webhook; empty: not signed
  std::string authorities;  // file, PEM: authorities of the receiver's certificate; empty: the system's
  AlertLevel least = AlertLevel::info;

  friend bool operator==(const AlertReceiver&, const AlertReceiver&) = default;
};

inline constexpr std::size_t kMaxAlertReceivers = 16;

}  // namespace autopilot::config
