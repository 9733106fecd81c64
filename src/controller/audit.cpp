// SPDX-License-Identifier: Apache-2.0
#include "controller/audit.hpp"

#include "telemetry/log.hpp"

namespace autopilot::controller {
namespace {

std::string name_of(const Target& target) {
  return target.kind + '/' + (target.name_space.empty() ? "" : target.name_space + '/') + target.name;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void log_done(const PlannedAction& action, const std::string& actor) {
  const bool is_small = action.kind == ActionKind::event || action.kind == ActionKind::mark_report;
  telemetry::log(is_small ? telemetry::LogLevel::debug : telemetry::LogLevel::info, "done",
                 {{"action", std::string(to_string(action.kind))},
                  {"target", name_of(action.target)},
                  {"plan", action.plan},
                  {"why", action.why},
                  {"evidence", joined(action.evidence)},
                  {"budget", action.budget},
                  {"actor", actor}});
}

}  // namespace autopilot::controller
