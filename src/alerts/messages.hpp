// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "alerts/notice.hpp"
#include "core/clock.hpp"

// The bodies of requests to receivers. Pure.
namespace autopilot::alerts {

// The labels are the identity of an alert in Alertmanager: alertname, job, severity, effect, finding, and
// node, gpu and nic if the culprit has them. They do not change while the finding keeps its severity.
using Labels = std::map<std::string, std::string>;
[[nodiscard]] Labels labels_of(const Notice& notice);

struct AlertmanagerAlert {
  Labels labels;
  std::map<std::string, std::string> annotations;
  WallTime starts_at{};
  std::optional<WallTime> ends_at;  // std::nullopt: Alertmanager's own resolve_timeout applies
};
// With the annotations summary, description and runbook_url.
[[nodiscard]] AlertmanagerAlert alertmanager_alert(const Notice& notice);

// The body of POST /api/v2/alerts.
[[nodiscard]] std::string alertmanager_json(std::span<const AlertmanagerAlert> alerts);

// docs/alerts.md describes the members. `version` is 1: members can be added, not changed.
[[nodiscard]] std::string webhook_json(const Notice& notice);

// {"text", "blocks"} for an incoming webhook of Slack or a compatible chat. Names and texts of jobs have no
// effect as markup: no mention, no link. At most 150 characters of the title and 2900 bytes of the body.
[[nodiscard]] std::string slack_json(const Notice& notice);

}  // namespace autopilot::alerts
