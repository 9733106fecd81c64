// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_cpu {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kId = "host.cpu";
constexpr std::string_view kSysfs = "sysfs";
constexpr std::string_view kPresent = "cpu.present";
constexpr std::string_view kOnline = "cpu.online";
constexpr std::string_view kSmt = "cpu.smt";
// Followed by the number of the package.
constexpr std::string_view kThrottled = "cpu.throttled.package";
constexpr std::string_view kThrottledRule = "host.cpu_throttled";
constexpr Duration kBetweenLines = 4min;

void add_processors(const host::Processors& processors, ObservationBuilder& seen) {
  seen.add(host_subject(), kOnline, kSysfs, static_cast<std::int64_t>(processors.online), "count");
  if (processors.present)
    seen.add(host_subject(), kPresent, kSysfs, static_cast<std::int64_t>(*processors.present), "count");
  if (!processors.smt.empty()) seen.add(host_subject(), kSmt, kSysfs, processors.smt);
  for (const host::ProcessorPackage& package : processors.packages)
    if (package.throttled)
      seen.add(host_subject(), std::string(kThrottled) + std::to_string(package.id), kSysfs,
               to_seconds(*package.throttled), "s");
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  // The log shows overheating; the processors are known without it.
  const Status log = add_rule_events(host, request, kId, observed);
  const auto processors = host::read_processors(host.files);
  if (!processors && !log) return fail(processors.error());
  ObservationBuilder seen(request.now);
  if (processors) {
    observed.witnesses.insert(observed.witnesses.begin(), std::string(kSysfs));
    add_processors(*processors, seen);
  } else {
    seen.add_missing(host_subject(), kOnline, kSysfs, to_string(processors.error().code),
                     processors.error().what);
  }
  std::ranges::move(seen.take(), std::back_inserter(observed.observations));
  return observed;
}

// Without simultaneous multithreading every second processor is switched off by configuration.
bool is_smt_switched_off(const History& history) {
  const std::string smt = history.word(host_subject(), kSmt).value_or("");
  return smt == "off" || smt == "forceoff";
}

void judge_offline(const JudgeInput& input, Findings& findings) {
  const auto present = input.history.number(host_subject(), kPresent);
  const auto online = input.history.number(host_subject(), kOnline);
  if (!present || !online || *online >= *present || is_smt_switched_off(input.history)) return;
  Finding finding =
      make_finding(input, host_subject(), "cpu_offline", Health::degraded,
                   rounded(*present - *online) + " of " + rounded(*present) + " processors are offline");
  finding.evidence = {{"value", *online}, {"present", *present}, {"witness", std::string(kSysfs)}};
  findings.push_back(std::move(finding));
}

// Kernels before 5.5 do not count the time. They log at most one line in five minutes, also for a short
// event: two lines mean that the heat persists or returns.
void judge_throttling_by_log(const JudgeInput& input, Findings& findings) {
  const Observation* first = nullptr;
  const Observation* last = nullptr;
  for (const Observation& event : input.history.events()) {
    if (event.name != kThrottledRule || !may_act(event) || is_injected(event)) continue;
    if (first == nullptr) first = &event;
    last = &event;
  }
  if (first == nullptr || last->time.mono - first->time.mono < kBetweenLines) return;
  findings.push_back(make_finding(input, host_subject(), "cpu_throttled", Health::degraded,
                                  "processors repeatedly throttled because of heat in " +
                                      format_duration(last->time.mono - first->time.mono)));
  add_line(findings.back(), *last);
}

void judge_throttling(const JudgeInput& input, Findings& findings) {
  const Limit most = limit(input, "host.cpu.throttled_share");
  const auto counts_time = [](const Observation& observation) {
    return observation.name.text().starts_with(kThrottled);
  };
  if (std::ranges::none_of(input.history.latest(), counts_time))
    return judge_throttling_by_log(input, findings);
  for (const Observation& observation : input.history.latest()) {
    if (!counts_time(observation)) continue;
    const auto growth = input.history.growth(host_subject(), observation.name, input.now, 10min);
    if (!growth) continue;
    const double share = std::min(growth->delta / to_seconds(growth->interval), 1.0);
    if (share <= most.value) continue;
    const auto interval = std::chrono::duration_cast<std::chrono::seconds>(growth->interval);
    Finding finding = make_finding(input, host_subject(), "cpu_throttled", Health::degraded,
                                   "processor package " + observation.name.text().substr(kThrottled.size()) +
                                       " throttled because of heat for " + percent(share) + " of the last " +
                                       format_duration(interval) + " (limit " + percent(most.value) + ")",
                                   share, most);
    finding.evidence.emplace_back("package", observation.name.text().substr(kThrottled.size()));
    findings.push_back(std::move(finding));
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  judge_offline(input, findings);
  judge_throttling(input, findings);
  add_unread(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_cpu

const Check kHostCpu = {
    .info = {.id = std::string(host_cpu::kId),
             .title = "Processors",
             .tags = {"host", "kernel_log", "performance", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::minutes{30},
             .cost = Cost::cheap,
             .witnesses = {std::string(host_cpu::kSysfs), "/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = true},
    .observe = host_cpu::observe,
    .judge = host_cpu::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
