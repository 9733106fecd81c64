// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_kernel {
namespace {

constexpr std::string_view kId = "host.kernel";
constexpr std::string_view kTainted = "/proc/sys/kernel/tainted";
constexpr std::string_view kTaint = "kernel.taint";

// Taint flags of the kernel that neither a driver nor an administrator sets on purpose. They stay until a
// reboot.
constexpr std::int64_t kBadPage = std::int64_t{1} << 5U;
constexpr std::int64_t kDied = std::int64_t{1} << 7U;
// Two flags that other checks report by their log lines as long as the log has them.
constexpr std::int64_t kMachineCheck = std::int64_t{1} << 4U;
constexpr std::int64_t kSoftLockup = std::int64_t{1} << 14U;

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  const auto taint = host.files.read_integer(kTainted);
  // The log has the line; the taint shows the event without it.
  const Status log = add_rule_events(host, request, kId, observed);
  if (!taint && !log) return fail(taint.error());
  Observation& observation = observed.observations.emplace_back();
  observation.name = kTaint;
  observation.source = kTainted;
  observation.time = request.now;
  if (taint) {
    observation.value = *taint;
    observed.witnesses.insert(observed.witnesses.begin(), std::string(kTainted));
  } else {
    observation.missing = to_string(taint.error().code);
    observation.attributes = {{"error", taint.error().what}};
  }
  return observed;
}

void judge_taint(const JudgeInput& input, std::int64_t taint, Findings& findings) {
  const Attributes evidence = {{"value", taint}, {"witness", std::string(kTainted)}};
  const auto is_reported = [&findings](std::string_view reason) {
    return std::ranges::any_of(
        findings, [reason](const Finding& finding) { return finding.reason == reason && !finding.injected; });
  };
  if ((taint & kDied) != 0 && !is_reported("kernel_oops")) {
    findings.push_back(make_finding(input, host_subject(), "kernel_oops", Health::degraded,
                                    "the kernel hit an internal fault (oops) since boot and continued"));
    findings.back().evidence = evidence;
  }
  if ((taint & kBadPage) != 0 && !is_reported("kernel_bad_page")) {
    findings.push_back(make_finding(input, host_subject(), "kernel_bad_page", Health::degraded,
                                    "the kernel found a memory page in an invalid state since boot"));
    findings.back().evidence = evidence;
  }
  if ((taint & kMachineCheck) != 0) {
    findings.push_back(make_finding(input, host_subject(), "kernel_machine_check", Health::degraded,
                                    "a processor reported a machine check since boot"));
    findings.back().evidence = evidence;
  }
  if ((taint & kSoftLockup) != 0) {
    findings.push_back(make_finding(input, host_subject(), "kernel_soft_lockup", Health::degraded,
                                    "a processor was stuck in the kernel (soft lockup) since boot"));
    findings.back().evidence = evidence;
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  if (const auto taint = input.history.number(host_subject(), kTaint))
    judge_taint(input, static_cast<std::int64_t>(*taint), findings);
  add_unread(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_kernel

const Check kHostKernel = {
    .info = {.id = std::string(host_kernel::kId),
             .title = "Kernel",
             .tags = {"host", "kernel_log", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::hours{2},
             .cost = Cost::cheap,
             .witnesses = {std::string(host_kernel::kTainted), "/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = host_kernel::observe,
    .judge = host_kernel::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
