// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/catalog_pages.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/action_text.hpp"
#include "checks/kernel_log/driver_advice.hpp"
#include "cli/output/table.hpp"
#include "core/pod_tests.hpp"

namespace autopilot::cli {
namespace {

std::string percent(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

std::string runs(int count) {
  return count == 1 ? "one run" : std::to_string(count) + " runs in a row";
}

std::string action_of(Action action) {
  return action == Action::none ? "no action" : catalog::action_text(action);
}

bool is_about(const catalog::Threshold& threshold, std::string_view check) {
  return threshold.id.size() > check.size() && threshold.id.starts_with(check) &&
         threshold.id[check.size()] == '.';
}

// A reason without findings may still open an incident of log lines, which ends after the last line.
std::string how_its_incident_ends(const catalog::Reason& reason) {
  if (reason.clear_after == Duration{0}) return "at once; only the event of the line remains";
  return "an incident of such lines alone closes " + format_duration(reason.clear_after) +
         " after the last line";
}

// An Xid or SXid; `reason` is the reason of its findings.
template <class DriverError>
void add_driver_error(Explained& page, const DriverError& error, const std::string& confidence,
                      const catalog::Reason* reason) {
  page.add("What", error.meaning).add("Class", joined(error.classes)).add("Confidence", confidence);
  page.add("Health", error.health == Health::healthy ? std::string("an event only, no finding")
                                                     : std::string(to_string(error.health)));
  page.add("Do now", action_of(error.action_now)).add("If it repeats", action_of(error.action_later));
  if (reason != nullptr) {
    page.add("Clears", error.health == Health::healthy ? how_its_incident_ends(*reason)
                                                       : catalog::how_it_clears(*reason));
    page.add("May be wrong if", reason->disproof);
  }
  page.add(error.provenance);
}

std::string verdict_text(const checks::DecodedRecord& record, const checks::LineVerdict& verdict) {
  if (verdict.health != Health::healthy)
    return verdict.check + " reports " + std::string(to_string(verdict.health)) + " (" + verdict.reason +
           "). Action: " + action_of(verdict.action);
  if (record.from_user) return "no finding: user space wrote the line";
  return "no finding from this line alone";
}

// A line that contains no driver error.
Explained explain_rule(const catalog::LogRule& rule, const checks::LineVerdict& verdict,
                       const catalog::Catalog& facts) {
  Explained page{.kind = "log rule", .id = rule.id, .title = rule.id + ": " + rule.title};
  const auto* reason = facts.reason(rule.reason.empty() ? verdict.reason : rule.reason);
  if (reason == nullptr) page.add("Health", "an event only, no finding: the line alone changes no verdict");
  for (const auto& check : facts.checks())
    if (std::ranges::find(check.log_rules, rule.id) != check.log_rules.end()) page.add("Read by", check.id);
  if (!rule.not_judged.empty()) page.add("Not judged", rule.not_judged);
  if (!rule.kernels.empty()) page.add("Kernels", rule.kernels);
  if (rule.unproven) page.add("Unproven", "no source proves this form of the line: degraded at worst");
  page.add(rule.provenance);
  if (reason != nullptr) page.more.push_back(explain(*reason));
  return page;
}

// The catalog page of the record's code or rule.
std::optional<Explained> explain_kind(const checks::DecodedRecord& record, const checks::LineVerdict& verdict,
                                      const catalog::Catalog& facts) {
  if (record.code && record.kind == "xid")
    if (const auto* xid = facts.xid(*record.code)) return explain(*xid, facts);
  if (record.code && record.kind == "sxid")
    if (const auto* sxid = facts.sxid(*record.code)) return explain(*sxid, facts);
  if (const auto* rule = facts.log_rule(record.rule)) return explain_rule(*rule, verdict, facts);
  return std::nullopt;
}

}  // namespace

Explained explain(const catalog::Reason& reason) {
  Explained page{.kind = "reason", .id = reason.id, .title = reason.id + ": " + reason.title};
  page.add("What", reason.meaning).add("At worst", to_string(reason.max_health));
  if (reason.confidence > 0)
    page.add("Confidence", percent(reason.confidence) + " that the named subject is at fault");
  page.add("Do now", reason.cure);
  if (reason.action != Action::none) page.add("Action", catalog::action_text(reason.action));
  page.add("Raised", "after " + runs(reason.raise_rounds) + (reason.asks_again ? ", the second at once" : ""))
      .add("Clears", catalog::how_it_clears(reason));
  page.add("May be wrong if", reason.disproof)
      .add("Reported by", joined(reason.checks))
      .add(reason.provenance);
  return page;
}

Explained explain(Action action, const catalog::Catalog& facts) {
  const std::string id(to_string(action));
  Explained page{.kind = "action", .id = id, .title = "Action " + id};
  page.add("Do now", action_of(action));
  if (takes_device_out_of_service(action)) page.add("Until then", "run no job on the device");
  std::vector<std::string> reasons;
  for (const auto& reason : facts.reasons())
    if (reason.action == action) reasons.push_back(reason.id);
  page.add("Reasons", joined(reasons));
  return page;
}

Explained explain(const catalog::Threshold& threshold) {
  Explained page{.kind = "threshold",
                 .id = threshold.id,
                 .title = threshold.id + " = " + to_string(Value{threshold.value}) + " " + threshold.unit};
  page.add("What", threshold.meaning)
      .add("At worst", to_string(threshold.max_health))
      .add(threshold.provenance);
  return page;
}

Explained explain(const catalog::Xid& xid, const catalog::Catalog& facts) {
  const std::string code = std::to_string(xid.code);
  Explained page{.kind = "Xid", .id = "xid " + code, .title = "Xid " + code + ": " + xid.name};
  const std::string fault_class = xid.classes.empty() ? "unknown" : xid.classes.front();
  add_driver_error(page, xid, percent(xid.confidence) + " that the GPU in the line is at fault",
                   facts.reason(checks::reason_of_xid(xid.code, fault_class)));
  return page;
}

Explained explain(const catalog::Sxid& sxid, const catalog::Catalog& facts) {
  const std::string codes =
      std::to_string(sxid.code) + (sxid.is_unit() ? " to " + std::to_string(sxid.last) : std::string());
  Explained page{
      .kind = "SXid", .id = "sxid " + std::to_string(sxid.code), .title = "SXid " + codes + ": " + sxid.name};
  add_driver_error(page, sxid,
                   percent(sxid.confidence) + " that the switch or the endpoint of its link is at fault",
                   facts.reason(checks::kReasonOfSxids));
  return page;
}

Explained explain(const catalog::CheckPage& check, const catalog::Catalog& facts) {
  Explained page{.kind = "check", .id = check.id, .title = check.id + ": " + check.title};
  page.add("What", check.summary)
      .add("Data sources", joined(check.witnesses))
      .add("Permissions", joined(check.rights));
  page.add("Known limits", check.how_wrong).add("False alarm", check.false_positive);
  for (const auto& threshold : facts.thresholds())
    if (is_about(threshold, check.id))
      page.add("Threshold", threshold.id.substr(check.id.size() + 1) + " = " +
                                to_string(Value{threshold.value}) + " " + threshold.unit + ": " +
                                threshold.meaning);
  for (const auto& reason : facts.reasons())
    if (std::find(reason.checks.begin(), reason.checks.end(), check.id) != reason.checks.end())
      page.add("Reasons", reason.id + ": " + reason.title);
  if (std::ranges::find(kPodTests, check.id) != kPodTests.end())
    page.add("Diagnostic",
             "it judges the diagnostic of the same id; start it with: autopilot test " + check.id);
  return page;
}

Explained explain(const checks::DecodedRecord& record, const checks::LineVerdict& verdict,
                  const catalog::Catalog& facts) {
  Explained page{.kind = "kernel log record",
                 .id = record.rule,
                 .title = "A kernel log record of kind " + record.kind + " (rule " + record.rule + ")"};
  // A line on the command line has no number.
  for (const auto& [name, value] : checks::to_attributes(record))
    if (name != "line") page.add(name, to_string(value));
  page.add("check", verdict_text(record, verdict));
  if (auto known = explain_kind(record, verdict, facts)) {
    page.more_note = "Catalog entry of this kind; details of the line take precedence:";
    page.more.push_back(*std::move(known));
  }
  return page;
}

Explained explain(const catalog::LogRule& rule, const catalog::Catalog& facts) {
  Explained page = explain_rule(rule, {}, facts);
  std::vector<std::pair<std::string, std::string>> first{{"What", rule.title}};
  if (!rule.examples.empty()) first.emplace_back("Example", rule.examples.front());
  page.paragraphs.insert(page.paragraphs.begin(), first.begin(), first.end());
  return page;
}

Explained explain(const catalog::Cause& cause) {
  Explained page{.kind = "cause rule", .id = cause.id, .title = cause.id + ": " + cause.title};
  page.add("What", "findings and records that become one incident: " + cause.because);
  page.add("At fault", cause.end == FaultEnd::application ? "the program, not the machine"
                       : cause.end == FaultEnd::hardware
                           ? "the hardware, not the program"
                           : "the program or the hardware: the records do not decide it");
  page.add("Cause", joined(cause.roots)).add("Consequences", joined(cause.takes));
  page.add("Also elsewhere", joined(cause.takes_anywhere)).add("Explains", joined(cause.explains));
  if (cause.window > Duration{0}) page.add("Within", format_duration(cause.window) + " of the cause");
  if (cause.several.count > 0)
    page.add("Several",
             "on " + std::to_string(cause.several.count) + " devices or more: " + cause.several.because);
  page.add(cause.provenance);
  return page;
}

}  // namespace autopilot::cli
