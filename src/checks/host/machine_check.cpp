// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_machine_check {
namespace {

constexpr std::string_view kId = "host.machine_check";
// Rules of corrected errors: of a processor, of an AMD processor, of the firmware. Each line is one error.
constexpr std::array<std::string_view, 3> kCorrectedRules{"host.machine_check", "host.machine_check_amd",
                                                          "host.platform_error"};

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  TRY_STATUS(add_rule_events(host, request, kId, observed));
  Observation records;
  records.name = "machine_check.records";  // new in this run
  records.source = observed.witnesses.front();
  records.time = request.now;
  records.unit = "count";
  records.value = static_cast<std::int64_t>(observed.observations.size());
  observed.observations.push_back(std::move(records));
  return observed;
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  double corrected = 0;
  const Observation* last = nullptr;
  for (const Observation& event : input.history.events()) {
    // Injected records are judged only by rules, which mark their findings.
    if (!may_act(event) || is_injected(event)) continue;
    if (std::ranges::find(kCorrectedRules, event.name.text()) == kCorrectedRules.end()) continue;
    corrected += static_cast<double>(event_count(event));
    last = &event;
  }
  const Limit most = limit(input, "host.machine_check.corrected_per_day");
  if (last == nullptr || corrected <= most.value) return findings;
  findings.push_back(make_finding(input, host_subject(), "machine_checks_corrected", Health::degraded,
                                  "the hardware corrected " + rounded(corrected) +
                                      " errors of processors or memory within a day (limit " +
                                      rounded(most.value) + ")",
                                  corrected, most));
  add_line(findings.back(), *last);
  return findings;
}

}  // namespace
}  // namespace host_machine_check

const Check kHostMachineCheck = {
    .info = {.id = std::string(host_machine_check::kId),
             .title = "Machine checks",
             .tags = {"host", "kernel_log", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::hours{24},
             .cost = Cost::cheap,
             .witnesses = {"/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = host_machine_check::observe,
    .judge = host_machine_check::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
