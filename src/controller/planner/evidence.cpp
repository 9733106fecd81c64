// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/evidence.hpp"

#include <algorithm>

#include "incidents/verdict.hpp"

namespace autopilot::controller {
namespace {

bool passed_since(const Node& node, std::string_view test, WallTime time) {
  const auto at = node.passed.find(test);
  return at != node.passed.end() && at->second > time;
}

bool has_evidence(const LedgerEntry& plan, const std::string& name) {
  return std::ranges::find(plan.evidence, name) != plan.evidence.end();
}

// Another plan has been made for it: one report makes one plan.
bool is_spent(const World& world, const Report& report, const LedgerEntry* open) {
  return std::ranges::any_of(world.plans_on(report.node), [&](const std::string& name) {
    const LedgerEntry* plan = world.entry(name);
    return plan != nullptr && (open == nullptr || plan->name != open->name) &&
           has_evidence(*plan, report.name);
  });
}

// A person has given the node back though it was so.
bool is_waived(const World& world, const Node& node, const OpenCause& cause) {
  return std::ranges::any_of(world.plans_on(node.name), [&](const std::string& name) {
    const LedgerEntry* plan = world.entry(name);
    return plan != nullptr && plan->is_released && has_evidence(*plan, cause.incident);
  });
}

}  // namespace

WallTime Evidence::first() const {
  WallTime first = WallTime::max();
  for (const Report* report : reports)
    first = std::min(first, report->time);
  for (const OpenCause* cause : causes)
    first = std::min(first, cause->since);
  return first;
}

WallTime Evidence::latest() const {
  WallTime latest = WallTime::min();
  for (const Report* report : reports)
    latest = std::max(latest, report->time);
  for (const OpenCause* cause : causes)
    latest = std::max(latest, cause->since);
  return latest;
}

Evidence evidence_of(const World& world, const Rules& rules, const Node& node, const LedgerEntry* open,
                     WallTime now) {
  Evidence evidence;
  for (const std::string& name : world.reports_on(node.name)) {
    const Report* report = world.report(name);
    if (report != nullptr && is_standing(*report, node, rules, now) && !is_spent(world, *report, open))
      evidence.reports.push_back(report);
  }
  const auto is_older = [](const Report* a, const Report* b) {
    return std::pair(a->time, a->name) < std::pair(b->time, b->name);
  };
  std::ranges::sort(evidence.reports, is_older);
  if (node.verdict != Verdict::evict) return evidence;
  for (const OpenCause& cause : node.causes)
    if (!is_waived(world, node, cause)) evidence.causes.push_back(&cause);
  return evidence;
}

bool is_disproven(const Report& report, const Node& node) {
  if (passed_since(node, incidents::kDeepTest, report.time)) return true;
  return !report.failed.empty() && std::ranges::all_of(report.failed, [&](const FailedTest& failed) {
    return passed_since(node, failed.test, report.time);
  });
}

bool is_standing(const Report& report, const Node& node, const Rules& rules, WallTime now) {
  return report.outcome == Outcome::failed && now - report.time <= rules.report_age &&
         !is_disproven(report, node);
}

bool is_evidence(const LedgerEntry& plan, const Node& node) {
  return node.verdict == Verdict::evict && !node.causes.empty() &&
         std::ranges::all_of(node.causes,
                             [&](const OpenCause& cause) { return has_evidence(plan, cause.incident); });
}

std::optional<Brake> doubt_of(const Node& node, const Rules& rules, WallTime now) {
  if (!node.verdict || !node.looked)
    return Brake{BrakeKind::unknown, "nobody tells how node " + node.name + " is"};
  if (node.is_unknown || node.verdict == Verdict::none)
    return Brake{BrakeKind::unknown, "a check that is required could not look at node " + node.name};
  if (*node.looked - now > rules.stale_after)
    return Brake{BrakeKind::stale, "what is told of node " + node.name + " is of " +
                                       format_time(*node.looked) + ", which is still to come"};
  if (now - *node.looked > rules.stale_after)
    return Brake{BrakeKind::stale, "what is told of node " + node.name + " is older than " +
                                       format_duration(rules.stale_after)};
  return std::nullopt;
}

std::string sentence_of(const Evidence& evidence) {
  if (!evidence.reports.empty()) {
    const Report& report = *evidence.reports.front();
    const std::string pod = "pod " + report.pod_namespace + '/' + report.pod;
    if (report.failed.empty()) return "the pre-flight test of " + pod + " failed: " + report.message;
    const FailedTest& failed = report.failed.front();
    return failed.test + " failed for " + pod + ": " +
           (failed.message.empty() ? failed.reason : failed.message);
  }
  if (evidence.causes.empty()) return {};
  const OpenCause& cause = *evidence.causes.front();
  return "verdict EVICT: " + cause.cause + " blames " + cause.blamed;
}

}  // namespace autopilot::controller
