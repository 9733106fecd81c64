// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/alert.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/stable_hash.hpp"
#include "jobs/causes.hpp"
#include "jobs/decision/alert_text.hpp"
#include "jobs/decision/decide.hpp"
#include "jobs/decision/last_words.hpp"

namespace autopilot::jobs {
namespace {

constexpr std::size_t kTitleBytes = 200;
constexpr double kTicketProbability = 0.5;

void add_to_hash(StableHash& hash, std::string_view job, Effect effect, const Entity& culprit) {
  hash.add_part(job);
  hash.add_part(to_string(effect));
  hash.add_part(std::to_string(static_cast<int>(culprit.kind)));
  hash.add_part(culprit.node);
  hash.add_part(std::to_string(culprit.gpu));
  hash.add_part(culprit.nic);
}

// Without the onset: a finding that ends and comes back.
std::string flap_key(const JobFinding& finding) {
  StableHash hash;
  add_to_hash(hash, finding.job, finding.effect, finding.culprit);
  return hash.hex();
}

bool asks_for_action(const JobFinding& finding) {
  return finding.culprit.is_accused() && (finding.decision.choice == Choice::stop_now ||
                                          finding.decision.choice == Choice::swap_at_checkpoint);
}

}  // namespace

std::string finding_id(std::string_view job, Effect effect, const Entity& culprit, WallTime onset) {
  StableHash hash;
  add_to_hash(hash, job, effect, culprit);
  hash.add_part(std::to_string(onset.time_since_epoch().count()));
  return hash.hex();
}

Severity severity_of(const JobFinding& finding) {
  if (finding.resolved) return Severity::info;
  const bool is_likely = finding.culprit.is_accused() && finding.probability >= kTicketProbability;
  switch (finding.effect) {
    case Effect::hang:
      return Severity::page;
    case Effect::regression:
      // Others fill the network: no part is at fault.
      if (finding.cause == kCongestion) return Severity::info;
      [[fallthrough]];
    case Effect::crash:
      return asks_for_action(finding) ? Severity::page : Severity::ticket;
    case Effect::slow:
      if (asks_for_action(finding)) return Severity::page;
      return is_likely ? Severity::ticket : Severity::info;
    case Effect::none:
      if (finding.cause == kLossIsNan) return Severity::ticket;
      return is_likely || asks_for_action(finding) ? Severity::ticket : Severity::info;
  }
  return Severity::info;
}

double lost_gpu_hours(const JobFinding& finding, int gpus, WallTime now) {
  const Duration lasted = std::max(finding.resolved.value_or(now) - finding.onset, Duration{0});
  const double hours = to_seconds(lasted) / 3600;
  const double count = std::max(gpus, 0);
  switch (finding.effect) {
    case Effect::none:
      return 0;
    case Effect::slow:
    case Effect::regression:
      return count * hours * goodput_loss_of(finding.slowdown.value_or(0));
    case Effect::hang:
    case Effect::crash:
      break;
  }
  const double since = finding.decision.since_checkpoint;
  return count * (hours + (std::isfinite(since) ? std::max(since, 0.0) : 0));
}

Alert make_alert(const JobFinding& finding, const JobState& state, AlertKind kind, WallTime now) {
  Alert alert;
  alert.id = finding.id;
  alert.job = finding.job;
  alert.kind = kind;
  alert.severity = kind == AlertKind::resolved ? Severity::info : finding.severity;
  alert.time = now;
  alert.title =
      one_line((kind == AlertKind::resolved ? "Over: " : "") + title_of(finding, state), kTitleBytes);
  alert.body = kind == AlertKind::resolved ? end_of(finding, state, now) : body_of(finding, state, now);
  return alert;
}

Alerts::Alerts(AlertLimits limits) : limits_(limits) {}

std::optional<Alert> Alerts::offer(const JobFinding& finding, const JobState& state, WallTime now) {
  std::optional<Alert> alert = finding.resolved ? resolve(finding, state, now) : raise(finding, state, now);
  if (!alert) ++suppressed_;
  return alert;
}

std::optional<Alert> Alerts::resolve(const JobFinding& finding, const JobState& state, WallTime now) {
  const auto held = sent_.find(finding.id);
  if (held == sent_.end() || held->second.is_resolved) return std::nullopt;
  held->second.is_resolved = true;
  return make_alert(finding, state, AlertKind::resolved, now);
}

std::optional<Alert> Alerts::raise(const JobFinding& finding, const JobState& state, WallTime now) {
  const auto held = sent_.find(finding.id);
  std::string note;
  AlertKind kind = AlertKind::raised;
  if (held != sent_.end()) {
    const bool is_more_severe = finding.severity > held->second.severity;
    if (!is_more_severe && now < held->second.last + limits_.cool_down) return std::nullopt;
    if (!held->second.is_resolved) kind = AlertKind::changed;
  } else if (!count_raise(finding, now, note)) {
    return std::nullopt;
  }
  if (limits_.remembered == 0) return std::nullopt;
  if (held == sent_.end() && sent_.size() >= limits_.remembered) forget_oldest();
  sent_[finding.id] = {now, finding.severity, false};
  Alert alert = make_alert(finding, state, kind, now);
  if (!note.empty()) alert.body += "\n" + wrap(note, 80, 2);
  return alert;
}

std::optional<SentAlert> Alerts::sent(std::string_view finding) const {
  const auto held = sent_.find(finding);
  return held == sent_.end() ? std::nullopt : std::optional(held->second);
}

void Alerts::restore(const std::string& finding, const SentAlert& sent) {
  if (sent_.size() < limits_.remembered) sent_.insert_or_assign(finding, sent);
}

bool Alerts::count_raise(const JobFinding& finding, WallTime now, std::string& note) {
  const std::string key = flap_key(finding);
  auto held = raises_.find(key);
  if (held == raises_.end()) {
    if (raises_.size() >= limits_.remembered)
      std::erase_if(raises_, [&](const auto& entry) {
        return entry.second.times.empty() || entry.second.times.back() + limits_.flap_window <= now;
      });
    if (raises_.size() >= limits_.remembered) return true;  // flapping is not recognised, nothing is lost
    held = raises_.emplace(key, Raises{}).first;
  }
  Raises& raises = held->second;
  const WallTime last = raises.times.empty() ? WallTime{} : raises.times.back();
  while (!raises.times.empty() && raises.times.front() + limits_.flap_window <= now)
    raises.times.pop_front();
  raises.times.push_back(now);
  const auto most = static_cast<std::size_t>(std::max(limits_.flaps, 0));
  if (raises.times.size() <= most) {
    raises.is_flapping = false;
    return true;
  }
  while (raises.times.size() > most + 1)
    raises.times.pop_front();
  const bool is_first = !std::exchange(raises.is_flapping, true);
  if (!is_first && now < last + limits_.cool_down) return false;
  note = "This finding comes and goes: it was raised more than " + std::to_string(most) + " times within " +
         format_duration(limits_.flap_window) + ". The next message follows after " +
         format_duration(limits_.cool_down) + " without one.";
  return true;
}

void Alerts::forget_oldest() {
  const auto oldest = std::min_element(
      sent_.begin(), sent_.end(), [](const auto& a, const auto& b) { return a.second.last < b.second.last; });
  if (oldest != sent_.end()) sent_.erase(oldest);
}

}  // namespace autopilot::jobs
