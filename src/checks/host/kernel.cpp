// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/kernel_log/rule_findings.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kId = "host.kernel";
constexpr std::string_view kTainted = "/proc/sys/kernel/tainted";
constexpr std::string_view kTaint = "kernel.taint";

// Of the kernel's list of taints, those that no driver or administrator causes on purpose. They stay until
// the machine reboots.
constexpr std::int64_t kBadPage = std::int64_t{1} << 5U;
constexpr std::int64_t kDied = std::int64_t{1} << 7U;

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  const auto taint = host.files.read_integer(kTainted);
  // The log gives the line; that something happened is known without it.
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
  }
  return observed;
}

void judge_taint(const JudgeInput& input, std::int64_t taint, Findings& findings) {
  const Attributes evidence = {{"value", taint}, {"witness", std::string(kTainted)}};
  const bool is_told = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.reason == "kernel_oops" && !finding.injected; });
  if ((taint & kDied) != 0 && !is_told) {
    findings.push_back(make_finding(input, host_subject(), "kernel_oops", Health::degraded,
                                    "the kernel met a fault of its own since it started and went on"));
    findings.back().evidence = evidence;
  }
  if ((taint & kBadPage) != 0) {
    findings.push_back(make_finding(input, host_subject(), "kernel_bad_page", Health::degraded,
                                    "the kernel found a page of memory in an impossible state"));
    findings.back().evidence = evidence;
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  if (const auto taint = input.history.number(host_subject(), kTaint))
    judge_taint(input, static_cast<std::int64_t>(*taint), findings);
  return findings;
}

}  // namespace

const Check kHostKernel{{.id = std::string(kId),
                         .title = "Kernel",
                         .tags = {"host", "kernel_log", "passive"},
                         .period = 60s,
                         .deadline = 5s,
                         .window = 2h,
                         .cost = Cost::cheap,
                         .witnesses = {std::string(kTainted), "/dev/kmsg"},
                         .rights = {"CAP_SYSLOG"},
                         .needs_window = false},
                        observe,
                        judge};

}  // namespace autopilot::checks
