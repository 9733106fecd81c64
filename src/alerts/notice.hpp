// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "jobs/brain.hpp"

namespace autopilot::alerts {

// An alert of the in-flight engine, with the facts of its finding that receivers route by. Texts are valid
// UTF-8 without control characters, except line ends in the body.
struct Notice {
  jobs::Alert alert;
  std::string job_name;  // for display; the name in `alert` if the job has none
  std::string owner;     // "PyTorchJob ml/llama"; empty: unknown
  jobs::Effect effect = jobs::Effect::none;
  jobs::Entity culprit;
  jobs::Choice choice = jobs::Choice::keep_running;
  WallTime onset{};
};

// Joins the alert with its finding in the report of its job. Without one, only the alert is known: the
// effect is none, and the culprit is unlocalised.
[[nodiscard]] Notice make_notice(const jobs::Alert& alert, std::span<const jobs::JobReport> reports);

// "page", for labels of Alertmanager "critical"; ticket: "warning"; info: "info".
[[nodiscard]] std::string_view alertmanager_severity(jobs::Severity severity);

// "AutopilotJobHang", "AutopilotJobSlow", ...: one name for each effect.
[[nodiscard]] std::string_view alert_name(jobs::Effect effect);

}  // namespace autopilot::alerts
