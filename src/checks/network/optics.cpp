// SPDX-License-Identifier: Apache-2.0
#include "checks/network/optics.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/network/port_counters.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_optics {
namespace {

using namespace std::chrono_literals;

// A machine with more ports has virtual ports that pretend to be physical.
constexpr std::size_t kMaxPorts = 64;
// Reserve for the return: a run that reaches its deadline is abandoned without a result.
constexpr Duration kSlack = 1s;

Attributes limits_of(const host::ModuleMonitor& monitor) {
  if (!monitor.limits) return {};
  return {{std::string(kHighAlarm), monitor.limits->high_alarm},
          {std::string(kHighWarning), monitor.limits->high_warning},
          {std::string(kLowWarning), monitor.limits->low_warning},
          {std::string(kLowAlarm), monitor.limits->low_alarm}};
}

// Adds the observations of one port, from the kernel and its driver.
class Port {
 public:
  Port(const host::EthernetLink& link, ObservationBuilder& seen)
      : subject_(port_subject(link.name)), link_(link), seen_(seen) {}

  void add_link() {
    seen_.add(subject_, kUp, kEthtool, link_.is_up);
    seen_.add(subject_, kCarrier, kEthtool, link_.has_carrier);
    seen_.add_count(subject_, kCarrierChanges, kEthtool, link_.carrier_changes);
  }
  void add_missing(std::string_view why, const std::string& what) {
    seen_.add_missing(subject_, kPort, kEthtool, why, what);
  }
  // True if the module's memory could be read.
  bool add_answer(const host::EthtoolPort& port) {
    seen_.add(subject_, kPort, kEthtool, true);
    add_reason(port.link);
    add_fec(port.fec);
    return add_module(port.module);
  }

 private:
  void add_error(std::string_view name, std::string_view source, const Error& error) {
    seen_.add_missing(subject_, name, source, to_string(error.code), error.what);
  }
  void add_reason(const Result<host::PortLink>& answer) {
    if (!answer) return add_error(kLinkReason, kEthtool, answer.error());
    const host::PortLink& link = *answer;
    if (!link.reason.empty()) {
      Observation& reason = seen_.add(subject_, kLinkReason, kEthtool, link.reason);
      if (!link.detail.empty()) reason.attributes = {{"detail", link.detail}};
    }
    if (!link.signal_quality) return;
    Observation& quality = seen_.add(subject_, kSignalQuality, kEthtool, std::int64_t{*link.signal_quality});
    if (link.signal_quality_max) quality.attributes = {{"best", std::int64_t{*link.signal_quality_max}}};
  }
  void add_fec(const Result<host::PortFec>& answer) {
    if (!answer) return add_error(kFecMode, kEthtool, answer.error());
    const host::PortFec& fec = *answer;
    if (!fec.mode.empty()) seen_.add(subject_, kFecMode, kEthtool, fec.mode);
    if (fec.corrected_blocks) seen_.add_count(subject_, kCorrected, kEthtool, *fec.corrected_blocks);
    if (fec.uncorrectable_blocks)
      seen_.add_count(subject_, kUncorrectable, kEthtool, *fec.uncorrectable_blocks);
  }
  bool add_module(const Result<host::ModuleMemory>& memory) {
    const auto module = memory ? host::parse_module(*memory) : Result<host::Module>(fail(memory.error()));
    if (!module) {
      add_error(kModule, kModuleMemory, module.error());
      return memory.has_value();
    }
    const std::optional<Error>& problem = memory->problem;
    Observation& kind = seen_.add(subject_, kModule, kModuleMemory, module->kind);
    kind.attributes = {{"vendor", module->vendor}, {"part", module->part}, {"copper", module->is_copper}};
    if (problem) kind.attributes.emplace_back("problem", problem->what);
    if (!module->state.empty()) {
      Observation& state = seen_.add(subject_, kModuleState, kModuleMemory, module->state);
      if (!module->fault.empty()) state.attributes = {{"cause", module->fault}};
    }
    add_monitor(kTemperature, module->celsius, "celsius");
    add_monitor(kVoltage, module->volts, "volts");
    for (const host::ModuleLane& lane : module->lanes) {
      const std::string number = "." + std::to_string(lane.number);
      add_monitor(std::string(kReceived) + number, lane.received_mw, "milliwatts");
      add_monitor(std::string(kSent) + number, lane.sent_mw, "milliwatts");
      add_monitor(std::string(kCurrent) + number, lane.bias_ma, "milliamperes");
    }
    return true;
  }
  void add_monitor(std::string_view name, const std::optional<host::ModuleMonitor>& monitor,
                   std::string_view unit) {
    if (!monitor) return;
    seen_.add(subject_, name, kModuleMemory, monitor->value, unit).attributes = limits_of(*monitor);
  }

  Subject subject_;
  const host::EthernetLink& link_;
  ObservationBuilder& seen_;
};

Result<std::vector<host::EthernetLink>> ports_of(const host::Host& host, MonoTime deadline) {
  std::vector<host::EthernetLink> ports;
  for (auto& link : TRY(host.ethernet.links(deadline)))
    if (link.is_port() && ports.size() < kMaxPorts) ports.push_back(std::move(link));
  if (ports.empty()) return fail(Errc::unsupported, "no physical Ethernet port");
  return ports;
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto ports = TRY(ports_of(host, request.deadline));
  ObservationBuilder seen(request.now);
  std::vector<const host::EthernetLink*> asked;
  std::vector<std::string> names;
  for (const host::EthernetLink& link : ports) {
    Port port(link, seen);
    port.add_link();
    if (!link.pci_address.empty() && host.spared_adapters.is_spared(link.pci_address, request.deadline)) {
      port.add_missing(kSparedPort, "not read, because its firmware logs an error for each read");
      continue;
    }
    asked.push_back(&link);
    names.push_back(link.name);
  }
  const auto answers = host.ethtool.read(names, request.deadline - kSlack);
  AUTOPILOT_ASSERT(answers.size() == asked.size());
  bool has_answered = false;
  bool has_module = false;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Port port(*asked[i], seen);
    if (!answers[i]) {
      port.add_missing(to_string(answers[i].error().code), answers[i].error().what);
      continue;
    }
    has_answered = true;
    has_module = port.add_answer(*answers[i]) || has_module;
  }
  if (!has_answered && !answers.empty()) return fail(answers.front().error());
  Observed observed;
  if (has_answered) observed.witnesses.emplace_back(kEthtool);
  if (has_module) observed.witnesses.emplace_back(kModuleMemory);
  observed.observations = seen.take();
  return observed;
}

}  // namespace
}  // namespace network_optics

const Check kNetworkOptics = {
    .info = {.id = "network.optics",
             .title = "Ethernet optics and FEC",
             .tags = {"network", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = network_optics::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(network_optics::kEthtool), std::string(network_optics::kModuleMemory)},
             .rights = {"CAP_NET_ADMIN"},
             .needs_window = true},
    .observe = network_optics::observe,
    .judge = network_optics::judge,
};

}  // namespace autopilot::checks
