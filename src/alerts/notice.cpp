// SPDX-License-Identifier: Apache-2.0
#include "alerts/notice.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::alerts {
namespace {

std::string clean(std::string_view text, bool keeps_lines = false) {
  std::string out = to_utf8(text);
  std::ranges::replace_if(
      out, [&](char c) { return (c >= 0 && c < ' ' && !(keeps_lines && c == '\n')) || c == 0x7F; }, ' ');
  return out;
}

void take_finding(Notice& notice, const jobs::JobFinding& finding) {
  notice.effect = finding.effect;
  notice.culprit = finding.culprit;
  notice.culprit.node = clean(finding.culprit.node);
  notice.culprit.nic = clean(finding.culprit.nic);
  notice.choice = finding.decision.choice;
  notice.onset = finding.onset;
}

}  // namespace

Notice make_notice(const jobs::Alert& alert, std::span<const jobs::JobReport> reports) {
  Notice notice{.alert = alert, .onset = alert.time};
  notice.alert.job = clean(alert.job);
  notice.alert.title = clean(alert.title);
  notice.alert.body = clean(alert.body, true);
  notice.job_name = notice.alert.job;
  const auto report =
      std::ranges::find_if(reports, [&](const jobs::JobReport& one) { return one.state.job == alert.job; });
  if (report == reports.end()) return notice;
  if (!report->state.name.empty()) notice.job_name = clean(report->state.name);
  notice.owner = clean(report->owner);
  const auto finding = std::ranges::find(report->findings, alert.id, &jobs::JobFinding::id);
  if (finding != report->findings.end()) take_finding(notice, *finding);
  return notice;
}

std::string_view alertmanager_severity(jobs::Severity severity) {
  switch (severity) {
    case jobs::Severity::page:
      return "critical";
    case jobs::Severity::ticket:
      return "warning";
    case jobs::Severity::info:
      return "info";
  }
  return {};
}

std::string_view alert_name(jobs::Effect effect) {
  switch (effect) {
    case jobs::Effect::none:
      return "AutopilotJobSuspect";
    case jobs::Effect::slow:
      return "AutopilotJobSlow";
    case jobs::Effect::regression:
      return "AutopilotJobRegression";
    case jobs::Effect::hang:
      return "AutopilotJobHang";
    case jobs::Effect::crash:
      return "AutopilotJobCrash";
  }
  return {};
}

}  // namespace autopilot::alerts
