// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/network/port_counters.hpp"

namespace autopilot::checks {
namespace network_efa {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWindow = 10min;
constexpr std::string_view kSysfs = "sysfs";
constexpr std::string_view kState = "state";

constexpr CounterGroup kCounters{.family = "efa.", .folder = "hw_counters/"};

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto ports =
      TRY(host::scan_ib_ports(host.files, [](const host::IbPort& port) { return port.is_efa(); }));
  if (ports.empty()) return fail(Errc::unsupported, "no EFA device in sysfs");
  ObservationBuilder seen(request.now);
  for (const host::IbPort& port : ports) {
    const Subject subject = port_subject(port.key());
    if (port.problem)
      seen.add_missing(subject, kState, kSysfs, to_string(port.problem->code), port.problem->what);
    else
      seen.add(subject, kState, kSysfs, port.state);
    static_cast<void>(add_port_counters(host, port, subject, kCounters, request.deadline, seen));
  }
  Observed observed;
  observed.witnesses = {std::string(kSysfs)};
  observed.observations = seen.take();
  return observed;
}

Findings judge_port(const JudgeInput& input, const Subject& subject) {
  Findings findings;
  const auto state = input.history.word(subject, kState);
  if (!state) {
    const Value* why = find_attribute(input.history.find(subject, kState)->attributes, "error");
    findings.push_back(make_finding(input, subject, "could_not_look", Health::unknown,
                                    subject.key + ": could not read its state: " + to_string(*why)));
    return findings;
  }
  if (!state->starts_with("active"))
    findings.push_back(make_finding(input, subject, "efa_port_down", Health::failed,
                                    subject.key + " is in state " + *state + ", expected: active"));
  const auto fast = fast_counters(input, subject, kCounters, kWindow);
  if (fast.empty()) return findings;
  const FastCounter& first = fast.front();
  findings.push_back(make_finding(input, subject, "efa_errors", Health::degraded,
                                  subject.key + ": " + counter_name(*first.counter) + " grows by " +
                                      rounded(first.growth) + " per second (limit " +
                                      rounded(first.most.value) + "). " + first.counter->meaning,
                                  first.growth, first.most));
  findings.back().evidence.emplace_back("counter", counter_name(*first.counter));
  return findings;
}

Findings judge(const JudgeInput& input) {
  return judge_ports(input, judge_port);
}

}  // namespace
}  // namespace network_efa

const Check kNetworkEfa = {
    .info = {.id = "network.efa",
             .title = "EFA adapters",
             .tags = {"network", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = network_efa::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(network_efa::kSysfs)},
             .rights = {},
             .needs_window = true},
    .observe = network_efa::observe,
    .judge = network_efa::judge,
};

}  // namespace autopilot::checks
