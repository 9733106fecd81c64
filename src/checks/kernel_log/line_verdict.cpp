// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/line_verdict.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "checks/check.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "core/history.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kWitness = "/dev/kmsg";
// A time well after boot; the line has the same time.
constexpr Instant kNow{WallTime(std::chrono::hours{24}), MonoTime(std::chrono::hours{24})};

// The subject by which a judge finds the line: from the rule, or else from its groups.
Subject subject_in_line(const DecodedRecord& decoded) {
  Subject subject = subject_by_rule(catalog::builtin(), decoded);
  if (subject.kind != SubjectKind::host) return subject;
  if (const std::string server = attribute_of(decoded, "server"); !server.empty()) {
    subject.kind = SubjectKind::peer;
    subject.key = server;
  } else if (const std::string device = attribute_of(decoded, "device"); !device.empty()) {
    subject.kind = SubjectKind::disk;
    subject.key = device;
  }
  return subject;
}

LineVerdict worst_of(const Findings& findings, const std::string& check) {
  LineVerdict verdict;
  for (const Finding& finding : findings) {
    const Health health = finding.health == Health::unknown ? Health::degraded : finding.health;
    if (health <= verdict.health) continue;
    verdict = {.health = health, .check = check, .reason = finding.reason, .action = finding.action};
  }
  return verdict;
}

LineVerdict judged_by(const Check& check, Observations events) {
  History history;
  history.add(std::move(events), check.info.window);
  const Expectation expectation;
  return worst_of(
      check.judge({.now = kNow, .history = history, .facts = catalog::builtin(), .expectation = expectation}),
      check.info.id);
}

// The check that reads lines of the rule; null for an operator's rule, which custom.log_rules reads.
const Check* reader_of(const std::string& rule) {
  for (const catalog::CheckPage& page : catalog::builtin().checks())
    if (std::ranges::find(page.log_rules, rule) != page.log_rules.end()) return find_check(page.id);
  return nullptr;
}

// A line of a rule with a reason causes a finding on a machine with the device.
LineVerdict verdict_by_rule(const catalog::LogRule& rule, const DecodedRecord& decoded,
                            const catalog::Catalog& facts) {
  const Check* reader = reader_of(rule.id);
  const catalog::Reason* reason = facts.reason(rule.reason);
  const Health health = catalog::allowed_health(rule, rule.health);
  return {.health = reason == nullptr ? health : std::min(health, reason->max_health),
          .check = reader == nullptr ? std::string("custom.log_rules") : reader->info.id,
          .reason = rule.reason,
          .action = decoded.action};
}

}  // namespace

LineVerdict verdict_on(const host::KernelRecord& record, const DecodedRecord& decoded,
                       const catalog::Catalog& facts) {
  if (decoded.from_user && !decoded.injected) return {};
  host::KernelRecord written = record;
  written.time = kNow;
  written.facility = 0;
  written.verified = true;
  auto driver_events =
      collect_driver_events({.records = {written}, .next = 0, .lost = 0, .witness = std::string(kWitness)})
          .events;
  if (!driver_events.empty()) return judged_by(*find_check("gpu.xid"), std::move(driver_events));
  const catalog::LogRule* rule = facts.log_rule(decoded.rule);
  const bool has_reason = rule != nullptr && !rule->reason.empty();
  LineVerdict by_rule = has_reason ? verdict_by_rule(*rule, decoded, facts) : LineVerdict{};
  const Check* reader = reader_of(decoded.rule);
  if (reader == nullptr) return by_rule;
  DecodedRecord by_kernel = decoded;
  by_kernel.from_kernel = true;
  by_kernel.from_user = false;
  LineVerdict judged =
      judged_by(*reader, {rule_event(written, by_kernel, subject_in_line(decoded), std::string(kWitness))});
  // A check may rate the line higher than its rule; without observations of the device it has no finding.
  return judged.health > by_rule.health ? judged : by_rule;
}

}  // namespace autopilot::checks
