// SPDX-License-Identifier: Apache-2.0
#include "docs/alert_rules.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace autopilot::docs {
namespace {

struct Rule {
  std::string alert;
  std::string expression;
  std::string wait;  // empty: at once
  std::string severity;
  std::string summary;
  std::string description;
  std::string cure;
  std::string clears;
  std::string page;
};

// A scalar of YAML, which Prometheus expands as a template.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string to_yaml(const Rule& rule) {
  std::string text = "      - alert: " + rule.alert + "\n        expr: " + in_quotes(rule.expression) + "\n";
  if (!rule.wait.empty()) text += "        for: " + rule.wait + "\n";
  text += "        labels:\n          severity: " + in_quotes(rule.severity) + "\n        annotations:\n";
  const auto note = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += "          " + std::string(name) + ": " + in_quotes(value) + "\n";
  };
  note("summary", rule.summary);
  note("description", rule.description);
  note("action", rule.cure);
  note("clears", rule.clears);
  note("page", rule.page);
  return text;
}

// "gpu_fallen_off_bus" -> "GpuFallenOffBus"
std::string camel_case(std::string_view word) {
  std::string result;
  bool is_start = true;
  for (const char c : word) {
    if (c != '_') result += is_start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_start = c == '_';
  }
  return result;
}

std::string page_of(const catalog::Catalog& facts, const catalog::Reason& reason) {
  const bool has_page =
      reason.checks.size() == 1 && std::ranges::any_of(facts.checks(), [&](const catalog::CheckPage& page) {
        return page.id == reason.checks.front();
      });
  return has_page ? "docs/checks/" + reason.checks.front() + ".md" : "docs/reasons.md";
}

// Where the agent is: its node where the scrape says it, as the ServiceMonitor of the chart does, else its
// address.
std::string where() {
  return "{{ or $labels.node $labels.instance }}";
}

// The agent has already waited the rounds that the reason asks for: nothing is gained by waiting again.
Rule finding_rule(const catalog::Catalog& facts, const catalog::Reason& reason) {
  const bool can_fail = reason.max_health == Health::failed;
  Rule rule;
  rule.alert = "Autopilot" + camel_case(reason.id);
  rule.expression = "autopilot_finding{reason=\"" + reason.id + "\",health" +
                    (can_fail ? "=~\"degraded|failed\"" : "=\"degraded\"") +
                    ",injected=\"false\"} unless on (job, instance) autopilot_simulated == 1";
  rule.severity =
      can_fail ? R"({{ if eq $labels.health "failed" }}critical{{ else }}warning{{ end }})" : "warning";
  rule.summary = "{{ $labels.subject }} on " + where() + ": " + reason.title;
  rule.description = reason.meaning;
  rule.cure = "{{ $labels.action }}: " + reason.cure;
  rule.clears = catalog::how_it_clears(reason);
  rule.page = page_of(facts, reason);
  return rule;
}

// What cannot be told from a real fault by its other labels must wake nobody.
Rule exercise_rule() {
  return {"AutopilotExercise",
          "autopilot_finding{health=~\"degraded|failed\"} and on (job, instance) autopilot_simulated == 1 or "
          "autopilot_finding{health=~\"degraded|failed\",injected=\"true\"}",
          "",
          "none",
          "{{ $labels.subject }} on " + where() + ": {{ $labels.reason }}, made by somebody",
          "The finding was injected, or the machine is simulated.",
          "",
          "",
          "docs/reasons.md"};
}

std::string agent_rules() {
  const std::string at = " on " + where();
  const std::string page = "docs/alerts.md";
  const Rule rules[] = {
      {"AutopilotRequiredCheckUnknown",
       "autopilot_check_health{health=\"unknown\"} == 1 and on (job, instance, check) "
       "autopilot_check_required == 1",
       "5m", "warning", "{{ $labels.check }}" + at + " could not look",
       "The profile requires this check, and it does not know.",
       "Look at autopilot check {{ $labels.check }}.", "when the check looked",
       "docs/checks/{{ $labels.check }}.md"},
      {"AutopilotCheckOld", "autopilot_check_age_seconds > 1800", "", "warning",
       "{{ $labels.check }}" + at + " has not looked for half an hour",
       "No check has a longer period than some minutes.", "Look whether a thread is stuck.",
       "when the check looked", "docs/checks/{{ $labels.check }}.md"},
      {"AutopilotChecksLate",
       "increase(autopilot_checks_late_total[15m]) > 0.1 * increase(autopilot_checks_run_total[15m])", "10m",
       "warning", "Every tenth look of the agent or more begins late" + at,
       "The machine leaves the agent no processor, or its threads wait for something.",
       "Look at the load of the machine and at autopilot_check_duration_seconds.",
       "when less than a tenth was late for a quarter of an hour", page},
      {"AutopilotStuck", "autopilot_lanes_stuck + autopilot_helpers_stuck > 0", "10m", "warning",
       "A call into the kernel or a driver does not return" + at,
       "Threads or helpers of the agent were given up.", "Look which checks are unknown.",
       "when the call returned or the agent was restarted", page},
      {"AutopilotRecordsLost",
       "increase(autopilot_kernel_records_lost_total[10m]) + "
       "increase(autopilot_kernel_records_missed_total[10m]) > 0",
       "", "warning", "Kernel records were lost before every check had them" + at,
       "A fault may have been missed.", "Look for the storm in the kernel log.",
       "ten minutes after the last loss", page},
      {"AutopilotJournalLate", "autopilot_journal_lag_seconds > 60", "5m", "warning",
       "The journal does not keep up" + at, "Incidents are shown, but a crash may lose them.",
       "Look at the disk of the state folder.", "when everything is written", page},
      {"AutopilotJournalNotDurable", "autopilot_journal_durable == 0", "10m", "warning",
       "The agent has no journal that it can write" + at,
       "What is found now is shown, and a restart does not know it.",
       "Read self.journalProblem at /v1/node: a full disk, a file system mounted read-only, a missing right.",
       "when everything is written", page},
      {"AutopilotJournalDropped", "increase(autopilot_journal_dropped_total[10m]) > 0", "", "warning",
       "Entries of the journal were lost" + at, "They were shown, and a restart does not know them.",
       "Look at the disk of the state folder and at the agent's log.", "ten minutes after the last loss",
       page},
      {"AutopilotConfigurationRefused", "increase(autopilot_configuration_refused_total[15m]) > 0", "",
       "warning", "A new configuration was refused" + at, "The old one stays in use.",
       "Read the agent's log for the line.", "a quarter of an hour after the last refusal", page},
      {"AutopilotClusterProblem", "autopilot_cluster_problem > 0", "10m", "warning",
       "The agent cannot write to the cluster what it knows" + at,
       "Label, conditions or Events of the node are out of date.",
       "Read self.cluster.problem at /v1/node: a missing right, or an API server that does not answer.",
       "when a write succeeds", page},
      {"AutopilotTlsCertificateEnds",
       "autopilot_tls_certificate_expiry_timestamp_seconds - time() < "
       "(autopilot_tls_certificate_expiry_timestamp_seconds - "
       "autopilot_tls_certificate_not_before_timestamp_seconds) / 6",
       "", "warning", "The certificate of the agent ends soon, or has ended," + at,
       "Five sixths of its life are over. After its end no agent believes another one, and nobody who brings "
       "a "
       "token gets in.",
       "Renew the Secret or the files of the keys; with cert-manager read the agent's log for why its keys "
       "were refused.",
       "when a new certificate is in use", page},
      {"AutopilotTlsRenewalFails", "autopilot_tls_renewal_failing > 0", "10m", "warning",
       "New keys of TLS are refused, or not issued," + at,
       "The old keys stay in use until their certificate ends; without any nobody gets in.",
       "Read the agent's log for why: keys of TLS refused.", "when the next try succeeds", page},
  };
  std::string text;
  for (const Rule& rule : rules)
    text += to_yaml(rule);
  return text;
}

}  // namespace

std::string alert_rules(const catalog::Catalog& facts) {
  std::string text =
      "# SPDX-License-Identifier: Apache-2.0\n"
      "# Made from catalog/ by `cmake --build --preset dev --target docs`; a change here is lost.\n"
      "groups:\n  - name: autopilot_findings\n    rules:\n";
  for (const catalog::Reason& reason : facts.reasons()) {
    if (reason.max_health != Health::degraded && reason.max_health != Health::failed) continue;
    text += to_yaml(finding_rule(facts, reason));
  }
  return text + to_yaml(exercise_rule()) + "  - name: autopilot_agent\n    rules:\n" + agent_rules();
}

}  // namespace autopilot::docs
