// SPDX-License-Identifier: Apache-2.0
#include "incidents/verdict.hpp"

#include <algorithm>
#include <cstdint>

#include "core/parse.hpp"
#include "incidents/causes.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

// Minimum confidence in the culprit for EVICT: docs/health-checks.md, Verdict of a node.
constexpr double kEvictConfidence = 0.8;

bool is_completed(const CheckResult& result) {
  return result.completed != WallTime{};
}

// A check with a failed and an unknown subject has the health unknown as a whole.
bool has_finding(const CheckResult& result, Health health) {
  return result.health == health || std::ranges::any_of(result.findings, [health](const Finding& finding) {
           return finding.health == health && !finding.injected;
         });
}

bool is_evicting_end(const Subject& end, double confidence, Action action) {
  return is_accelerator_part(end.kind) && confidence >= kEvictConfidence &&
         takes_device_out_of_service(action);
}

// Other network, storage and host findings have their own conditions. A finding about a GPU counts whichever
// check reports it.
bool counts_for_warn(std::string_view check, const Finding& finding) {
  return check.starts_with("gpu.") || check == "network.ping" || check == "storage.pvc" ||
         is_accelerator_part(finding.subject.kind);
}

// From deep diagnostics or DCGM, for any subject.
bool has_fatal_dcgm_test(const CheckResult& result) {
  const bool is_of_dcgm = result.check == kDeepTest || result.check == kDcgm;
  return is_of_dcgm && std::ranges::any_of(result.findings, [](const Finding& finding) {
           return finding.health == Health::failed && !finding.injected &&
                  takes_device_out_of_service(finding.action);
         });
}

bool makes_warn(const CheckResult& result) {
  if (result.required && !has_looked(result)) return true;
  return std::ranges::any_of(result.findings, [&result](const Finding& finding) {
    if (finding.health == Health::unknown && finding.reason == kMemoryLost) return true;
    return is_bad(finding.health) && !finding.injected && counts_for_warn(result.check, finding);
  });
}

bool was_denied(const CheckResult& result) {
  return std::ranges::any_of(result.findings, [](const Finding& finding) {
    return finding.health == Health::unknown && finding.reason == kNotPermitted;
  });
}

const Incident* find(std::span<const Incident> incidents, const std::string& id) {
  const auto found = std::ranges::find(incidents, id, &Incident::id);
  return found == incidents.end() ? nullptr : &*found;
}

EvictingIncident updated(EvictingIncident one, const WrittenVerdictInput& input) {
  const Incident* incident = find(input.incidents, one.id);
  if (incident != nullptr) {
    one.closed.reset();
    one.is_acknowledged = incident->acknowledged.has_value();
  } else {
    one.closed = std::min(one.closed.value_or(input.now), input.now);
  }
  return one;
}

// True if the incident requires EVICT independently of the verdict.
bool holds(const EvictingIncident& one, const WrittenVerdictInput& input) {
  if (one.is_acknowledged) return false;
  const auto& passed = input.deep_test_passed;
  return !one.closed || !passed || *passed <= *one.closed || *passed > input.now;
}

// True if only a deep diagnostic reports failures. The next passing diagnostic is then proof enough.
bool is_of_deep_test(const Incident& incident) {
  return std::ranges::all_of(incident.members, [](const IncidentMember& member) {
    return member.check == kDeepTest || member.cleared || member.finding.health != Health::failed;
  });
}

// A later layout has another first word, and is then not parsed.
constexpr std::string_view kVerdictLayout = "w1";
constexpr std::string_view kNone = "-";
constexpr char kNodeMark = '@';

// "<id>,<nanoseconds of its closing, or ->,<1 when acknowledged>"
std::optional<EvictingIncident> parse_evicting(std::string_view word) {
  const auto parts = split(word, ',');
  if (parts.size() != 3 || parts[0].empty() || (parts[2] != "0" && parts[2] != "1")) return std::nullopt;
  EvictingIncident one{std::string(parts[0]), std::nullopt, parts[2] == "1"};
  if (parts[1] == kNone) return one;
  const auto closed = parse_number<std::int64_t>(parts[1]);
  if (!closed) return std::nullopt;
  one.closed = WallTime{Duration{*closed}};
  return one;
}

}  // namespace

bool is_accelerator_part(SubjectKind kind) {
  return kind == SubjectKind::gpu || kind == SubjectKind::gpu_instance || kind == SubjectKind::nvlink ||
         kind == SubjectKind::nvswitch;
}

bool has_looked(const CheckResult& result) {
  if (!is_completed(result) || result.health == Health::unknown) return false;
  return std::ranges::none_of(result.findings,
                              [](const Finding& finding) { return finding.health == Health::unknown; });
}

Health node_health(const CheckResults& results) {
  const auto any = [&results](auto&& predicate) { return std::ranges::any_of(results, predicate); };
  if (any([](const CheckResult& result) { return has_finding(result, Health::failed); }))
    return Health::failed;
  if (any([](const CheckResult& result) { return result.required && !has_looked(result); }))
    return Health::unknown;
  if (any([](const CheckResult& result) { return has_finding(result, Health::degraded); }))
    return Health::degraded;
  if (any([](const CheckResult& result) { return result.health == Health::healthy; })) return Health::healthy;
  return Health::unknown;
}

Coverage coverage_of(const CheckResults& results, std::span<const CheckInfo> checks) {
  Coverage coverage;
  for (const auto& result : results) {
    if (result.health == Health::unsupported) continue;
    ++coverage.of;
    if (has_looked(result)) {
      ++coverage.looked;
      continue;
    }
    if (!was_denied(result)) continue;
    const auto info = std::ranges::find(checks, result.check, &CheckInfo::id);
    if (info == checks.end()) continue;
    for (const auto& right : info->rights)
      if (std::ranges::find(coverage.missing_rights, right) == coverage.missing_rights.end())
        coverage.missing_rights.push_back(right);
  }
  return coverage;
}

bool makes_evict(const Incident& incident, const ReasonLookup& reasons) {
  if (incident.injected || incident.state == IncidentState::closed) return false;
  const bool is_of_end = is_evicting_end(incident.blamed, incident.confidence, incident.action);
  const bool has_several_ends = incident.blamed.kind == SubjectKind::host;
  return std::ranges::any_of(incident.members, [&](const IncidentMember& member) {
    const Finding& finding = member.finding;
    if (finding.health != Health::failed || member.cleared) return false;
    // The host is the culprit, but its failed devices still do not work.
    return is_of_end || (has_several_ends && !member.sympathetic &&
                         is_evicting_end(finding.subject, confidence_of(finding, reasons), finding.action));
  });
}

Verdict verdict_of(const VerdictInput& input) {
  const bool complete = std::ranges::all_of(
      input.results, [](const CheckResult& result) { return !result.required || is_completed(result); });
  if (!complete) return Verdict::none;
  if (input.reserved_for_deep_test) return Verdict::testing;
  const auto evicts = [&](const Incident& incident) { return makes_evict(incident, input.reasons); };
  if (std::ranges::any_of(input.incidents, evicts) || std::ranges::any_of(input.results, has_fatal_dcgm_test))
    return Verdict::evict;
  if (std::ranges::any_of(input.results, makes_warn)) return Verdict::warn;
  return input.has_accelerator ? Verdict::pass : Verdict::none;
}

WrittenVerdict next_written(const WrittenVerdict& before, const WrittenVerdictInput& input) {
  WrittenVerdict after{input.verdict, {}, before.node_uid};
  for (const EvictingIncident& one : before.evicting)
    if (EvictingIncident now = updated(one, input); holds(now, input))
      after.evicting.push_back(std::move(now));
  for (const Incident& incident : input.incidents) {
    if (!makes_evict(incident, input.reasons) || is_of_deep_test(incident)) continue;
    const bool is_known =
        std::ranges::find(after.evicting, incident.id, &EvictingIncident::id) != after.evicting.end();
    if (!is_known) after.evicting.push_back(updated({incident.id, {}, false}, input));
  }
  if (!after.evicting.empty() && input.verdict != Verdict::testing) after.word = Verdict::evict;
  return after;
}

bool see_label(WrittenVerdict& written, std::string_view label, std::string_view node_uid) {
  const bool is_another_object = !written.node_uid.empty() && written.node_uid != node_uid;
  if (label.empty() && is_another_object) return false;
  bool has_changed = false;
  if (!label.empty() && written.node_uid != node_uid) {
    written.node_uid = node_uid;
    has_changed = true;
  }
  if (label == to_string(Verdict::evict) || label == to_string(Verdict::testing)) return has_changed;
  const auto acknowledged =
      std::erase_if(written.evicting, [](const EvictingIncident& one) { return one.closed.has_value(); });
  return has_changed || acknowledged > 0;
}

std::string why_it_stays(std::span<const EvictingIncident> evicting, std::string_view node,
                         std::string_view label) {
  if (evicting.empty()) return {};
  const auto open = std::ranges::find_if(evicting, [](const EvictingIncident& one) { return !one.closed; });
  if (open != evicting.end())
    return "incident " + open->id +
           " is open; EVICT remains until it has closed and a deep diagnostic has passed, " +
           "or until you acknowledge it: autopilot ack " + open->id;
  const bool is_guess = std::ranges::find(evicting, kPredecessor, &EvictingIncident::id) != evicting.end();
  const std::string why = is_guess ? "the node had EVICT before this agent started, for an unknown reason"
                                   : "EVICT remains after incident " + evicting.front().id;
  return why + "; to end it, pass a deep diagnostic, or remove the label: kubectl label node " +
         std::string(node) + " " + std::string(label) + "-";
}

std::string to_text(const WrittenVerdict& written) {
  std::string text(kVerdictLayout);
  const std::string_view word = to_string(written.word);
  text.append(" ").append(word.empty() ? kNone : word);
  if (!written.node_uid.empty()) text.append(" ").append(1, kNodeMark).append(written.node_uid);
  for (const EvictingIncident& one :
       std::span(written.evicting).first(std::min(written.evicting.size(), kMaxEvictingKept))) {
    const std::string closed =
        one.closed ? std::to_string(one.closed->time_since_epoch().count()) : std::string(kNone);
    text.append(" ").append(one.id).append(",").append(closed);
    text.append(one.is_acknowledged ? ",1" : ",0");
  }
  return text;
}

std::optional<WrittenVerdict> parse_written_verdict(std::string_view text) {
  auto words = split(text, ' ');
  std::string node_uid;
  if (words.size() > 2 && words[2].size() > 1 && words[2].front() == kNodeMark) {
    node_uid = words[2].substr(1);
    words.erase(words.begin() + 2);
  }
  if (words.size() < 2 || words.size() > 2 + kMaxEvictingKept || words[0] != kVerdictLayout ||
      words[1].empty())
    return std::nullopt;
  const auto word = words[1] == kNone ? std::optional(Verdict::none) : parse_verdict(words[1]);
  if (!word) return std::nullopt;
  WrittenVerdict written{*word, {}, std::move(node_uid)};
  for (const std::string_view one : std::span(words).subspan(2)) {
    auto evicting = parse_evicting(one);
    if (!evicting) return std::nullopt;
    written.evicting.push_back(std::move(*evicting));
  }
  return written;
}

}  // namespace autopilot::incidents
