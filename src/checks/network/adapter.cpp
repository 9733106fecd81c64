// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "core/parse.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_adapter {
namespace {

using namespace std::chrono_literals;

// A driver's message counts for this time, unless a later one retracts it.
constexpr Duration kWindow = 12h;
constexpr std::string_view kId = "network.adapter";

// About an adapter that is bound to its driver: its port, or an empty word.
constexpr std::string_view kPort = "adapter.port";
constexpr std::array<std::string_view, 17> kDrivers = {
    "mlx5_core", "ena", "efa",   "mlx4_core", "bnxt_en", "ice",  "i40e", "ixgbe", "idpf",
    "qede",      "sfc", "cxgb4", "gve",       "mana",    "hns3", "igb",  "ionic"};
// About an adapter without a driver: true if another adapter of its kind has one.
constexpr std::string_view kDriverless = "adapter.driverless";
// About an mlx5 adapter without an RDMA device: the cause.
constexpr std::string_view kWithoutRdma = "adapter.without_rdma";
constexpr std::string_view kMlx5 = "mlx5_core";
constexpr std::string_view kRdmaProbeRule = "network.rdma_probe_failed";
constexpr std::array kClasses = {host::pci_class::kEthernet, host::pci_class::kNetworkOther,
                                 host::pci_class::kInfiniband};
// An adapter with at least this many lanes carries data; it is not a management adapter.
constexpr int kLanesOfData = 16;
// Rules about adapters that the driver could not start, or that may be lost.
constexpr std::array<std::string_view, 5> kRulesWithoutDriver = {
    "network.mlx5_not_started", "network.probe_failed", "network.slow_probe_failed", "network.adapter_hot",
    "network.adapter_cooled"};
// A machine may have hundreds of virtual functions; adapters beyond this limit are counted as left out.
constexpr std::size_t kMaxAdapters = 256;
constexpr std::string_view kLeftOut = "adapters.left_out";

// --- observe ---

Subject port(const std::string& key) {
  return make_subject(SubjectKind::nic_port, key);
}

// A link message is about the port. Other messages are about the PCI address, because the ports of a faulty
// adapter come and go.
Subject subject_of(const host::Files& files, const DecodedRecord& decoded) {
  const std::string address = attribute_of(decoded, "device");
  const std::string interface = attribute_of(decoded, "interface");
  if (decoded.rule == kRdmaProbeRule) {
    const auto of_part = host::pci_address_of_part(files, attribute_of(decoded, "function"));
    return of_part ? port(*of_part) : host_subject();
  }
  if (decoded.rule == kLinkRule) {
    const std::string of_adapter = host::port_of_adapter(files, address);
    return port(of_adapter.find('/') == std::string::npos ? interface : of_adapter);
  }
  return port(address.empty() ? interface : canonical_pci_address(address).value_or(address));
}

bool is_for_data(const host::Files& files, const host::PciDevice& adapter) {
  constexpr unsigned kInterfaceBits = 8;
  if (adapter.class_code >> kInterfaceBits == host::pci_class::kInfiniband) return true;
  const auto link = host::read_pci_link(files, adapter.address);
  return link && link->max_width.value_or(0) >= kLanesOfData;
}

// True for drivers that pass devices to virtual machines and programs, bypassing the kernel's network.
bool gives_devices_away(std::string_view driver) {
  return driver.starts_with("vfio") || driver == "pci-stub" || driver.find("uio") != std::string_view::npos;
}

// Adds physical functions without a driver, unless an administrator reserves them for one. Small ones are
// added only if another adapter of the same kind has a driver.
void find_driverless(const host::Files& files, ObservationBuilder& seen) {
  const auto scan = host::scan_pci_classes(files, kClasses);
  if (!scan) return;
  for (const host::PciDevice& adapter : scan->devices) {
    if (!adapter.driver.empty() || host::is_meant_for_one_driver(files, adapter.address)) continue;
    const bool has_siblings = std::ranges::any_of(scan->devices, [&](const host::PciDevice& other) {
      return !other.driver.empty() && !gives_devices_away(other.driver) && other.vendor == adapter.vendor &&
             other.device == adapter.device;
    });
    if (has_siblings || is_for_data(files, adapter))
      seen.add(port(adapter.address), kDriverless, "sysfs", has_siblings);
  }
}

// Adapters in InfiniBand mode; an Ethernet adapter may work without RDMA.
std::vector<std::string> infiniband_adapters(const host::Files& files) {
  std::vector<std::string> addresses;
  const auto scan = host::scan_pci_classes(files, std::array{host::pci_class::kInfiniband});
  if (!scan) return addresses;
  for (const host::PciDevice& adapter : scan->devices)
    addresses.push_back(adapter.address);
  return addresses;
}

// Why it has no RDMA device; nullopt if it has one or needs none.
std::optional<std::string_view> lack_of_rdma(host::RdmaPart part, bool is_infiniband) {
  if (part == host::RdmaPart::not_started) return "not_started";
  if (part == host::RdmaPart::started || !is_infiniband) return std::nullopt;
  return part == host::RdmaPart::no_driver ? "no_driver" : "untold";
}

void find_rdma(const host::Files& files, ObservationBuilder& seen) {
  const std::vector<std::string> infiniband = infiniband_adapters(files);
  std::size_t adapters = 0;
  for (const std::string& address : host::devices_of_driver(files, kMlx5)) {
    if (host::is_virtual_function(files, address)) continue;
    if (++adapters > kMaxAdapters) break;
    const bool is_infiniband = std::ranges::find(infiniband, address) != infiniband.end();
    if (const auto why = lack_of_rdma(host::rdma_part(files, address), is_infiniband))
      seen.add(port(address), kWithoutRdma, "sysfs", std::string(*why));
  }
}

// Removes messages about virtual functions: such a function may belong to a guest.
void forget_virtual(const host::Files& files, Observations& events) {
  std::erase_if(events, [&files](const Observation& event) {
    return std::ranges::find(kRulesWithoutDriver, event.name.text()) != kRulesWithoutDriver.end() &&
           host::is_virtual_function(files, event.subject.key);
  });
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  TRY_STATUS(add_rule_events(
      host, request, kId, [&](const DecodedRecord& decoded) { return subject_of(host.files, decoded); },
      observed));
  forget_virtual(host.files, observed.observations);
  observed.witnesses.emplace_back("sysfs");
  ObservationBuilder seen(request.now);
  std::size_t adapters = 0;
  for (const std::string_view driver : kDrivers)
    for (const std::string& address : host::devices_of_driver(host.files, driver)) {
      if (++adapters > kMaxAdapters) continue;
      seen.add(port(address), kPort, "sysfs", host::port_of_adapter(host.files, address));
    }
  find_driverless(host.files, seen);
  find_rdma(host.files, seen);
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

bool is_by_rule_without_driver(const Finding& finding) {
  const Value* rule = find_attribute(finding.evidence, "rule");
  return rule != nullptr &&
         std::ranges::find(kRulesWithoutDriver, to_string(*rule)) != kRulesWithoutDriver.end();
}

// True for a finding about an RDMA device, whose state every run reads.
bool is_of_rdma_part(const Finding& finding) {
  const Value* function = find_attribute(finding.evidence, "function");
  return function != nullptr && finding.subject.kind == SubjectKind::nic_port &&
         to_string(*function).starts_with(kMlx5);
}

// Findings about a removed adapter are dropped: a driver also logs a fatal error when an administrator
// removes a virtual function. An adapter that did not start works if it is bound to its driver now.
bool is_of_interest(const JudgeInput& input, Finding& finding) {
  if (is_of_rdma_part(finding)) return input.history.find(finding.subject, kWithoutRdma) != nullptr;
  if (!find_attribute(finding.evidence, "device")) return true;
  const auto name = input.history.word(finding.subject, kPort);
  const bool needs_no_driver = is_by_rule_without_driver(finding);
  if (needs_no_driver && finding.reason == "adapter_failed") return !name;
  if (!name) return needs_no_driver;
  if (is_ignored(input, *name)) return false;
  if (!name->empty()) finding.evidence.emplace_back("port", *name);
  return true;
}

// The kernel log is more specific: no finding if it has one.
void judge_driverless(const JudgeInput& input, Findings& findings) {
  for (const Observation& observation : input.history.latest()) {
    if (observation.name != kDriverless) continue;
    const Subject& adapter = observation.subject;
    if (std::ranges::any_of(findings, [&](const Finding& finding) { return finding.subject == adapter; }))
      continue;
    const bool has_siblings = observation.value == Value{true};
    findings.push_back(make_finding(input, adapter, "adapter_without_driver",
                                    has_siblings ? Health::degraded : Health::unknown,
                                    adapter.key + " is in the PCI tree, but no driver is bound to it" +
                                        (has_siblings ? ", although others of its kind have one" : "")));
    findings.back().evidence.emplace_back("witness", "sysfs");
  }
}

struct LackOfRdma {
  std::string_view word;
  Health health;
  std::string_view sentence;
};
constexpr std::array<LackOfRdma, 3> kLacksOfRdma{{
    {"not_started", Health::degraded, "mlx5_ib is loaded, but did not start its RDMA device"},
    {"no_driver", Health::degraded, "mlx5_ib, the driver of its RDMA device, is not loaded"},
    {"untold", Health::unknown, "this kernel does not report the cause"},
}};

// The kernel log is more specific: no finding if it has one.
void judge_rdma(const JudgeInput& input, Findings& findings) {
  for (const Observation& observation : input.history.latest()) {
    if (observation.name != kWithoutRdma || !observation.value) continue;
    const Subject& adapter = observation.subject;
    const std::string port = input.history.word(adapter, kPort).value_or("");
    const auto lack = std::ranges::find(kLacksOfRdma, to_string(*observation.value), &LackOfRdma::word);
    if (lack == kLacksOfRdma.end() || is_ignored(input, port)) continue;
    if (std::ranges::any_of(findings, [&](const Finding& finding) {
          return finding.subject == adapter && finding.reason == "adapter_failed";
        }))
      continue;
    findings.push_back(make_finding(
        input, adapter, "adapter_without_rdma", lack->health,
        adapter.key + " is bound to mlx5_core, but has no RDMA device: " + std::string(lack->sentence)));
    findings.back().evidence.emplace_back("witness", "sysfs");
    if (!port.empty()) findings.back().evidence.emplace_back("port", port);
  }
}

struct LinkFlaps {
  double count = 0;
  const Observation* last = nullptr;  // the line of the newest "Link up" after an outage
};

// Counts how often the port lost its link for longer than `least_seconds` and regained it, by its lines "Link
// down" and "Link up" that may act. A link that is still down is not counted, nor is a repeated line.
LinkFlaps count_flaps(const History& history, const Subject& port, double least_seconds) {
  LinkFlaps flaps;
  std::optional<MonoTime> down_since;
  for (const Observation& event : history.events()) {
    if (event.subject != port || event.name != kLinkRule || !may_act(event)) continue;
    if (to_lower(attribute_of(event, "state")) == "down") {
      if (!down_since) down_since = event.time.mono;
      continue;
    }
    if (down_since && to_seconds(event.time.mono - *down_since) > least_seconds) {
      ++flaps.count;
      flaps.last = &event;
    }
    down_since.reset();
  }
  return flaps;
}

void judge_flaps(const JudgeInput& input, const Subject& subject, Findings& findings) {
  const Limit least = limit(input, "network.adapter.flap_down_seconds");
  const Limit most = limit(input, "network.adapter.flaps");
  const LinkFlaps flaps = count_flaps(input.history, subject, least.value);
  if (flaps.count <= most.value) return;
  findings.push_back(make_finding(input, subject, "link_flapping", Health::degraded,
                                  subject.key + " lost its link for more than " + rounded(least.value) +
                                      " s and regained it " + rounded(flaps.count) + " times in " +
                                      format_duration(kWindow) + " (limit " + rounded(most.value) + ")",
                                  flaps.count, most));
  add_line(findings.back(), *flaps.last);
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  std::erase_if(findings, [&](Finding& finding) { return !is_of_interest(input, finding); });
  judge_driverless(input, findings);
  judge_rdma(input, findings);
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
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
