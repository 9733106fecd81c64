// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_lockups {
namespace {

constexpr std::string_view kId = "host.lockups";
constexpr std::string_view kSysctl = "/proc/sys/kernel";

// Whether the kernel's detectors are on. A virtual machine without performance counters has no hard lockup
// detector.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDetectors{
    {{"watchdog.soft", "soft_watchdog"}, {"watchdog.hard", "nmi_watchdog"}}};

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  TRY_STATUS(add_rule_events(host, request, kId, observed));
  bool any_answered = false;
  for (const auto& [name, file] : kDetectors) {
    const auto is_on = host.files.read_integer(std::string(kSysctl) + "/" + std::string(file));
    Observation& observation = observed.observations.emplace_back();
    observation.name = name;
    observation.source = kSysctl;
    observation.time = request.now;
    if (is_on) {
      observation.value = *is_on != 0;
      any_answered = true;
    } else {
      observation.missing =
          is_on.error().code == Errc::not_found ? "not_supported" : to_string(is_on.error().code);
      observation.attributes = {{"error", is_on.error().what}};
    }
  }
  if (any_answered) observed.witnesses.emplace_back(kSysctl);
  return observed;
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  const auto is_on = input.history.number(host_subject(), kDetectors.front().first);
  if (findings.empty() && is_on == 0.0)
    findings.push_back(make_finding(input, host_subject(), "could_not_look", Health::unknown,
                                    "the kernel's soft lockup detector is switched off "
                                    "(kernel.soft_watchdog)"));
  add_unread(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_lockups

const Check kHostLockups = {
    .info = {.id = std::string(host_lockups::kId),
             .title = "Stuck processors",
             .tags = {"host", "kernel_log", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::hours{2},
             .cost = Cost::cheap,
             .witnesses = {"/dev/kmsg", std::string(host_lockups::kSysctl)},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = host_lockups::observe,
    .judge = host_lockups::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
