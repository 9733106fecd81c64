// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/network/port_counters.hpp"

namespace autopilot::checks {
namespace network_rdma_counters {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWindow = 1h;
constexpr std::string_view kSysfs = "sysfs";
constexpr std::string_view kLinkLayer = "link_layer";

constexpr CounterGroup kCounters{.family = "infiniband.", .folder = "hw_counters/"};

// network.efa checks EFA. On its host a virtual function belongs to a guest, so its counters are not read.
bool is_ours(const host::IbPort& port) {
  return !port.is_virtual_function && !port.is_efa();
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto ports = TRY(host::scan_ib_ports(host.files, is_ours));
  if (ports.empty()) return fail(Errc::unsupported, "no physical InfiniBand or RoCE adapter in sysfs");
  ObservationBuilder seen(request.now);
  for (const host::IbPort& port : ports) {
    const Subject subject = port_subject(port.key());
    if (port.number == 0 && port.problem) {
      seen.add_missing(subject, kLinkLayer, kSysfs, to_string(port.problem->code), port.problem->what);
      continue;
    }
    seen.add(subject, kLinkLayer, kSysfs, port.link_layer);
    static_cast<void>(add_port_counters(host, port, subject, kCounters, request.deadline, seen));
  }
  Observed observed;
  observed.witnesses = {std::string(kSysfs)};
  observed.observations = seen.take();
  return observed;
}

// The error of a port that returned no value; null if it returned any.
const Observation* refusal(const History& history, const Subject& subject) {
  const Observation* refused = nullptr;
  for (const Observation& observation : history.latest()) {
    if (observation.subject != subject || (observation.name == kLinkLayer && observation.value)) continue;
    if (observation.value) return nullptr;
    refused = &observation;
  }
  return refused;
}

Findings judge_port(const JudgeInput& input, const Subject& subject) {
  if (const Observation* refused = refusal(input.history, subject)) {
    const Value* why = find_attribute(refused->attributes, "error");
    return {make_finding(input, subject, "could_not_look", Health::unknown,
                         subject.key + ": " + (why == nullptr ? refused->missing.text() : to_string(*why)))};
  }
  const auto fast = fast_counters(input, subject, kCounters, kWindow);
  if (fast.empty()) return {};
  const FastCounter& first = fast.front();
  Finding finding = make_finding(input, subject, "rdma_errors", Health::degraded,
                                 subject.key + ": " + counter_name(*first.counter) + " grows by " +
                                     rounded(first.growth) + " " + first.most.unit + " (limit " +
                                     rounded(first.most.value) + "). " + first.counter->meaning,
                                 first.growth, first.most);
  finding.evidence.emplace_back("counter", counter_name(*first.counter));
  return {std::move(finding)};
}

Findings judge(const JudgeInput& input) {
  return judge_ports(input, judge_port);
}

}  // namespace
}  // namespace network_rdma_counters

const Check kNetworkRdmaCounters = {
    .info = {.id = "network.rdma_counters",
             .title = "RDMA counters",
             .tags = {"network", "passive"},
             .period = std::chrono::minutes{2},
             .deadline = std::chrono::seconds{10},
             .window = network_rdma_counters::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(network_rdma_counters::kSysfs)},
             .rights = {},
             .needs_window = true},
    .observe = network_rdma_counters::observe,
    .judge = network_rdma_counters::judge,
};

}  // namespace autopilot::checks
