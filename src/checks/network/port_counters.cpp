// SPDX-License-Identifier: Apache-2.0
#include "checks/network/port_counters.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace autopilot::checks {

namespace {

Duration unit_of(const Limit& limit) {
  if (limit.unit == "per_second") return std::chrono::seconds{1};
  if (limit.unit == "per_minute") return std::chrono::minutes{1};
  if (limit.unit == "per_hour") return std::chrono::hours{1};
  return Duration::zero();
}

}  // namespace

std::optional<double> growth_above(const JudgeInput& input, const Subject& subject, std::string_view counter,
                                   const Limit& limit, Duration window) {
  const auto growth = input.history.growth(subject, counter, input.now, window);
  if (!growth) return std::nullopt;
  const Duration unit = unit_of(limit);
  if (unit == Duration::zero())
    return growth->delta > limit.value ? std::optional(growth->delta) : std::nullopt;
  const Duration over = std::max({growth->interval, unit, Duration(std::chrono::minutes{1})});
  const double rate = growth->delta * (to_seconds(unit) / to_seconds(over));
  return rate > limit.value ? std::optional(rate) : std::nullopt;
}

std::size_t add_port_counters(const host::Host& host, const host::IbPort& port, const Subject& subject,
                              const CounterGroup& group, MonoTime deadline, ObservationBuilder& seen) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool is_spared = host.spared_adapters.is_spared(port.pci_address, deadline);
  std::size_t answered = 0;
  for (const catalog::Counter& counter : catalog::builtin().counters()) {
    if (!group.holds(counter)) continue;
    if (is_spared) {
      seen.add_missing(subject, counter.path, "sysfs", kSpared,
                       "not read, because the firmware logs an error for each read of its counters");
      return 0;
    }
    const auto value = host::read_ib_counter(host.files, port, counter.path);
    if (value) {
      ++answered;
      seen.add(subject, counter.path, "sysfs", static_cast<std::int64_t>(std::min(*value, most)),
               counter.unit);
      continue;
    }
    if (value.error().code == Errc::not_found) continue;  // this port lacks the counter
    seen.add_missing(subject, counter.path, "sysfs", to_string(value.error().code), value.error().what);
    if (value.error().code != Errc::malformed) break;
  }
  return answered;
}

std::vector<FastCounter> fast_counters(const JudgeInput& input, const Subject& subject,
                                       const CounterGroup& group, Duration window) {
  std::vector<FastCounter> fast;
  for (const catalog::Counter& counter : input.facts.counters()) {
    if (!group.holds(counter) || counter.threshold.empty()) continue;
    if (!input.history.number(subject, counter.path)) continue;
    Limit most = limit(input, counter.threshold);
    if (const auto growth = growth_above(input, subject, counter.path, most, window))
      fast.push_back({.counter = &counter, .growth = *growth, .most = std::move(most)});
  }
  return fast;
}

std::optional<std::string> why_unread(const JudgeInput& input, const Subject& subject,
                                      const CounterGroup& group, Duration window) {
  for (const Observation& observation : input.history.latest()) {
    if (observation.subject != subject || observation.missing.empty()) continue;
    if (!observation.name.text().starts_with(group.folder)) continue;
    const Value* why = find_attribute(observation.attributes, "error");
    return why == nullptr ? observation.missing.text() : to_string(*why);
  }
  for (const catalog::Counter& counter : input.facts.counters()) {
    if (!group.holds(counter) || counter.threshold.empty()) continue;
    const auto end = counter.saturation();
    if (!end || input.history.number(subject, counter.path) != static_cast<double>(*end)) continue;
    if (!growth_above(input, subject, counter.path, limit(input, counter.threshold), window))
      return counter_name(counter) + " is at its maximum, " + std::to_string(*end) + ", and cannot grow";
  }
  return std::nullopt;
}

Subject port_subject(std::string key) {
  return make_subject(SubjectKind::nic_port, std::move(key));
}

Findings judge_ports(const JudgeInput& input,
                     Findings (*judge_port)(const JudgeInput& input, const Subject& port)) {
  Findings findings;
  const auto& ignored = input.expectation.ignored_interfaces;
  for (const Subject& port : input.history.subjects(SubjectKind::nic_port)) {
    if (std::ranges::find(ignored, port.key) != ignored.end()) continue;
    for (Finding& finding : judge_port(input, port))
      findings.push_back(std::move(finding));
  }
  return findings;
}

std::string counter_name(const catalog::Counter& counter) {
  return counter.path.substr(counter.path.rfind('/') + 1);
}

}  // namespace autopilot::checks
