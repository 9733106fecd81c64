// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_clock {
namespace {

constexpr std::string_view kSynchronised = "synchronised";
constexpr std::string_view kClockError = "clock_error";
constexpr std::string_view kOffset = "offset";
constexpr std::string_view kMaximumError = "maximum_error";
constexpr std::string_view kEstimatedError = "estimated_error";
constexpr std::string_view kClocksource = "clocksource";
constexpr std::string_view kAvailable = "clocksource.available";

// Clock sources that a modern processor uses only after the kernel gave up a better one. Virtual machines
// have their own clock sources.
constexpr std::array<std::string_view, 5> kSlowClocks{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"};

Result<Observed> observe(const host::Host& host, const Request& request) {
  const host::TimeSyncState state = TRY(host.time_sync.read());
  Observed observed;
  observed.witnesses.emplace_back("adjtimex");
  const auto add = [&](std::string_view name, Value value, std::string_view unit, std::string_view source) {
    Observation observation;
    observation.name = name;
    observation.value = std::move(value);
    observation.unit = unit;
    observation.source = source;
    observation.time = request.now;
    observed.observations.push_back(std::move(observation));
  };
  add(kSynchronised, state.synchronised, "", "adjtimex");
  add(kClockError, state.clock_error, "", "adjtimex");
  add(kOffset, static_cast<double>(state.offset_ns) / 1e9, "seconds", "adjtimex");
  add(kMaximumError, static_cast<double>(state.max_error_us) / 1e6, "seconds", "adjtimex");
  add(kEstimatedError, static_cast<double>(state.estimated_error_us) / 1e6, "seconds", "adjtimex");
  if (!state.clocksource.empty()) {
    observed.witnesses.emplace_back("sysfs");
    add(kClocksource, state.clocksource, "", "sysfs");
    add(kAvailable, state.available_clocksources, "", "sysfs");
  }
  return observed;
}

std::string seconds(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", value);
  return text.data();
}

void judge_discipline(const JudgeInput& input, Findings& findings) {
  const auto synchronised = input.history.number(host_subject(), kSynchronised);
  const auto error = input.history.number(host_subject(), kClockError);
  const auto maximum = input.history.number(host_subject(), kMaximumError);
  if (!synchronised || !maximum) return;
  // A time service may leave the kernel's "unsynchronised" flag set on purpose, so that the kernel does not
  // write the hardware clock. Then the maximum error, which the service updates, shows that it runs: without
  // a service it grows to the limit.
  const Limit unsynchronised = limit(input, "host.clock.unsynchronised_error");
  const bool has_flag = *synchronised == 0;
  if (has_flag ? *maximum >= unsynchronised.value : error.value_or(0) != 0) {
    findings.push_back(make_finding(
        input, host_subject(), "clock_unsynchronised", Health::degraded,
        has_flag ? "no NTP or PTP service updates the clock" : "the kernel reports a clock error", *maximum,
        unsynchronised));
    return;
  }
  const std::array<std::pair<std::string_view, std::string_view>, 2> numbers{
      {{kMaximumError, "host.clock.maximum_error"}, {kOffset, "host.clock.offset"}}};
  for (const auto& [name, id] : numbers) {
    const auto value = input.history.number(host_subject(), name);
    const Limit most = limit(input, id);
    if (!value || std::abs(*value) <= most.value) continue;
    findings.push_back(make_finding(
        input, host_subject(), "clock_error_large", Health::degraded,
        (name == kOffset ? "the clock is off from its time source by " + seconds(std::abs(*value))
                         : "the error of the clock may be up to " + seconds(*value)) +
            " (limit " + seconds(most.value) + ")",
        *value, most));
    return;  // one finding per reason
  }
}

void judge_clocksource(const JudgeInput& input, Findings& findings) {
  const auto current = input.history.word(host_subject(), kClocksource);
  if (!current) return;
  for (const std::string_view slow : kSlowClocks) {
    if (*current != slow) continue;
    Finding finding = make_finding(input, host_subject(), "clocksource_fallback", Health::degraded,
                                   "the kernel uses the slow clock source " + *current);
    finding.evidence = {{"clocksource", *current},
                        {"available", input.history.word(host_subject(), kAvailable).value_or("")}};
    findings.push_back(std::move(finding));
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  judge_discipline(input, findings);
  judge_clocksource(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_clock

const Check kHostClock = {
    .info = {.id = "host.clock",
             .title = "Clock",
             .tags = {"host", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{2},
             .window = std::chrono::minutes{10},
             .cost = Cost::cheap,
             .witnesses = {"adjtimex", "sysfs"},
             .rights = {},
             .needs_window = false},
    .observe = host_clock::observe,
    .judge = host_clock::judge,
};

}  // namespace autopilot::checks
