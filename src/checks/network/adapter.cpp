// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/link_outages.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/kernel_log/rule_findings.hpp"
#include "checks/network/link_flaps.hpp"
#include "checks/seen.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_adapter {
namespace {

using namespace std::chrono_literals;

// What a driver says stands for so long, where it does not take it back.
constexpr Duration kWindow = 12h;
constexpr std::string_view kId = "network.adapter";

// Of an adapter that works with its driver: the port that it has, or an empty word.
constexpr std::string_view kPort = "adapter.port";
constexpr std::array<std::string_view, 3> kDrivers = {"mlx5_core", "ena", "efa"};
// Virtual functions come in hundreds; beyond them the rest is left out and counted.
constexpr std::size_t kMaxAdapters = 256;
constexpr std::string_view kLeftOut = "adapters.left_out";

// --- observe ---

Subject port(const std::string& key) {
  Subject subject;
  subject.kind = SubjectKind::nic_port;
  subject.key = key;
  return subject;
}

// A link is that of its port. An adapter is told by its address: while it is in trouble its ports come and
// go.
Subject subject_of(const host::Files& files, const DecodedRecord& decoded) {
  const std::string address = attribute_of(decoded, "device");
  const std::string interface = attribute_of(decoded, "interface");
  if (decoded.rule == kLinkRule) {
    const std::string of_adapter = host::port_of_adapter(files, address);
    return port(of_adapter.find('/') == std::string::npos ? interface : of_adapter);
  }
  return port(address.empty() ? interface : canonical_pci_address(address).value_or(address));
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  TRY_STATUS(add_rule_events(
      host, request, kId, [&](const DecodedRecord& decoded) { return subject_of(host.files, decoded); },
      observed));
  observed.witnesses.emplace_back("sysfs");
  Seen seen(request.now);
  std::size_t adapters = 0;
  for (const std::string_view driver : kDrivers)
    for (const std::string& address : host::devices_of_driver(host.files, driver)) {
      if (++adapters > kMaxAdapters) continue;
      seen.add(port(address), kPort, "sysfs", host::port_of_adapter(host.files, address));
    }
  seen.add_count(host_subject(), kLeftOut, "sysfs", adapters > kMaxAdapters ? adapters - kMaxAdapters : 0);
  for (Observation& observation : seen.take())
    observed.observations.push_back(std::move(observation));
  return observed;
}

// --- judge ---

bool is_ignored(const JudgeInput& input, const std::string& name) {
  const auto& ignored = input.expectation.ignored_interfaces;
  return std::ranges::find(ignored, name) != ignored.end();
}

// Of an adapter that is gone nothing is said: a driver calls it a fatal error as well when somebody takes a
// virtual function away.
bool is_of_interest(const JudgeInput& input, Finding& finding) {
  if (!find_attribute(finding.evidence, "device")) return true;
  const auto name = input.history.word(finding.subject, kPort);
  if (!name || is_ignored(input, *name)) return false;
  if (!name->empty()) finding.evidence.emplace_back("port", *name);
  return true;
}

void judge_flaps(const JudgeInput& input, const Subject& subject, Findings& findings) {
  const Limit least = limit(input, "network.adapter.flap_down_seconds");
  const Limit most = limit(input, "network.adapter.flaps");
  const LinkFlaps flaps = count_flaps(input.history, subject, kLinkRule, least.value);
  if (flaps.count <= most.value) return;
  findings.push_back(make_finding(input, subject, "link_flapping", Health::degraded,
                                  subject.key + " lost its link for more than " + rounded(least.value) +
                                      " s and found it again " + rounded(flaps.count) + " times in " +
                                      format_duration(kWindow),
                                  flaps.count, most));
  add_line(findings.back(), *flaps.last);
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  std::erase_if(findings, [&](Finding& finding) { return !is_of_interest(input, finding); });
  std::vector<Subject> ports;
  for (const Observation& event : input.history.events())
    if (event.name == kLinkRule && std::ranges::find(ports, event.subject) == ports.end())
      ports.push_back(event.subject);
  for (const Subject& subject : ports)
    judge_flaps(input, subject, findings);
  std::erase_if(findings, [&](const Finding& finding) { return is_ignored(input, finding.subject.key); });
  return findings;
}

}  // namespace
}  // namespace network_adapter

const Check kNetworkAdapter = {
    .info = {.id = std::string(network_adapter::kId),
             .title = "Network adapters",
             .tags = {"network", "passive"},
             .period = std::chrono::minutes{5},
             .deadline = std::chrono::seconds{5},
             .window = network_adapter::kWindow,
             .cost = Cost::cheap,
             .witnesses = {"/dev/kmsg", "sysfs"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = network_adapter::observe,
    .judge = network_adapter::judge,
};

}  // namespace autopilot::checks
