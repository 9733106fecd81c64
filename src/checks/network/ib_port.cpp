// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/network/port_counters.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_ib_port {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWindow = 1h;
constexpr std::string_view kSysfs = "sysfs";

constexpr std::string_view kPorts = "ports";
constexpr std::string_view kState = "state";
constexpr std::string_view kPhysicalState = "physical_state";
constexpr std::string_view kLinkLayer = "link_layer";
constexpr std::string_view kRate = "rate";
constexpr std::string_view kBestRate = "rate.largest";
constexpr std::string_view kAdapter = "adapter";
constexpr std::string_view kInfiniband = "InfiniBand";
constexpr std::string_view kLosses = "counters/link_downed";

// A comparison needs at least this many other ports.
constexpr int kSiblings = 2;

// Counters that every InfiniBand adapter has. network.rdma_counters reads those of some adapters.
constexpr CounterGroup kCounters{.family = "infiniband.", .folder = "counters/"};

void add_port(const host::Host& host, const host::IbPort& port, MonoTime deadline, ObservationBuilder& seen) {
  const Subject subject = port_subject(port.key());
  if (port.problem)
    seen.add_missing(subject, kState, kSysfs, to_string(port.problem->code), port.problem->what);
  else
    seen.add(subject, kState, kSysfs, port.state);
  if (!port.physical_state.empty()) seen.add(subject, kPhysicalState, kSysfs, port.physical_state);
  seen.add(subject, kLinkLayer, kSysfs, port.link_layer);
  if (port.rate_gbps) seen.add(subject, kRate, kSysfs, *port.rate_gbps, "gbps");
  if (!port.adapter.empty()) seen.add(subject, kAdapter, kSysfs, port.adapter);
  if (port.number != 0) static_cast<void>(add_port_counters(host, port, subject, kCounters, deadline, seen));
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto ports = TRY(host::scan_ib_ports(host.files));
  ObservationBuilder seen(request.now);
  seen.add_count(host_subject(), kPorts, kSysfs, ports.size());
  for (const auto& port : ports)
    add_port(host, port, request.deadline, seen);
  Observed observed;
  observed.witnesses.emplace_back(kSysfs);
  observed.observations = seen.take();
  return observed;
}

// Physical states without a link, although the subnet manager set the port active.
constexpr std::array<std::string_view, 6> kNoPhysicalLink{
    "sleep", "polling", "disabled", "portconfigurationtraining", "linkerrorrecovery", "phy test"};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class PortJudge {
 public:
  PortJudge(const JudgeInput& input, const Subject& subject)
      : input_(input),
        subject_(subject),
        is_expected_(contains(input.expectation.expected_interfaces, subject.key)) {}

  Findings judge() {
    // A RoCE port is down with its Ethernet link, which network.ethernet_link judges.
    const bool is_infiniband = input_.history.word(subject_, kLinkLayer) == kInfiniband;
    const auto state = input_.history.word(subject_, kState);
    if (is_infiniband || is_expected_) {
      if (state)
        judge_state(*state);
      else
        add_unreadable();
    }
    if (state && state->starts_with("active")) judge_rate();
    judge_counters();
    if (state) judge_unread_counters(is_infiniband);
    return std::move(findings_);
  }

 private:
  // Time since the port was last active; nullopt if it was never active in the window.
  [[nodiscard]] std::optional<Duration> inactive_for() const {
    std::optional<Duration> since;
    for (const auto& sample : input_.history.samples(subject_, kState))
      if (to_string(sample.value).starts_with("active")) since = input_.now.mono - sample.time;
    return since;
  }

  // True if the port was active less than `grace` ago.
  [[nodiscard]] bool is_within(const Limit& grace) const {
    const auto inactive = inactive_for();
    return inactive && to_seconds(*inactive) < grace.value;
  }

  void add(std::string_view reason, Health health, const std::string& what) {
    findings_.push_back(make_finding(input_, subject_, reason, health, subject_.key + " " + what));
    findings_.back().evidence.emplace_back("state", input_.history.word(subject_, kState).value_or(""));
    findings_.back().evidence.emplace_back("physicalState",
                                           input_.history.word(subject_, kPhysicalState).value_or(""));
  }

  void add_unreadable() {
    const Observation* state = input_.history.find(subject_, kState);
    const Value* error = state == nullptr ? nullptr : find_attribute(state->attributes, "error");
    findings_.push_back(make_finding(
        input_, subject_, "could_not_look", Health::unknown,
        subject_.key + ": could not read its state" + (error == nullptr ? "" : ": " + to_string(*error))));
  }

  void judge_state(const std::string& state) {
    if (state.starts_with("active")) return judge_physical_link();
    if (state == "init" || state == "armed") {
      if (!is_within(limit(input_, "network.ib_port.initialising_seconds")))
        add("ib_port_initialising", Health::degraded, "has a link, but no subnet manager has activated it");
      return;
    }
    const auto physical = input_.history.word(subject_, kPhysicalState).value_or("");
    if (physical == "disabled" && !is_expected_) {
      add("ib_port_disabled", Health::degraded, "is switched off");
      return;
    }
    if (is_within(limit(input_, "network.ib_port.down_seconds"))) return;
    // The port is known to be in use only by the configuration, or because it was active before.
    const bool was_active =
        inactive_for().has_value() || input_.history.number(subject_, kLosses).value_or(0) > 0;
    add("ib_port_down", is_expected_ || was_active ? Health::failed : Health::degraded,
        was_active ? "lost its link" : "has no link");
  }

  void judge_physical_link() {
    const auto physical = input_.history.word(subject_, kPhysicalState).value_or("");
    if (std::ranges::find(kNoPhysicalLink, physical) != kNoPhysicalLink.end())
      add("ib_link_unsteady", Health::degraded, "is active, but its physical link is in state " + physical);
  }

  // The rate of most ports of the same adapter model, if there are enough of them. Does not use a table of
  // products.
  [[nodiscard]] std::optional<double> rate_of_siblings(int& agreeing) const {
    const auto adapter = input_.history.word(subject_, kAdapter);
    if (!adapter) return std::nullopt;
    std::map<double, int> rates;
    int siblings = 0;
    for (const Subject& other : input_.history.subjects(SubjectKind::nic_port)) {
      if (other == subject_ || input_.history.word(other, kAdapter) != adapter) continue;
      const auto rate = input_.history.number(other, kRate);
      if (!rate || !input_.history.word(other, kState).value_or("").starts_with("active")) continue;
      ++siblings;
      ++rates[*rate];
    }
    if (siblings < kSiblings) return std::nullopt;
    const auto common = std::ranges::max_element(rates, {}, [](const auto& entry) { return entry.second; });
    agreeing = common->second;
    return agreeing * 2 > siblings ? std::optional(common->first) : std::nullopt;
  }

  void judge_rate() {
    const auto rate = input_.history.number(subject_, kRate);
    if (!rate) return;
    int agreeing = 0;
    const auto usual = rate_of_siblings(agreeing);
    if (usual && *rate < *usual) {
      add_rate(*rate, std::to_string(agreeing) + " of its siblings at " + to_string(Value{*usual}) + " Gb/s");
      findings_.back().evidence.emplace_back("siblingsGbps", *usual);
      return;
    }
    const auto best = input_.history.number(subject_, kBestRate);
    if (!best || *rate >= *best) return;
    add_rate(*rate, "but ran at " + to_string(Value{*best}) + " Gb/s since the machine started");
    findings_.back().evidence.emplace_back("bestGbps", *best);
  }
  void add_rate(double rate, const std::string& compared) {
    findings_.push_back(
        make_finding(input_, subject_, "ib_rate_low", Health::degraded,
                     subject_.key + " runs at " + to_string(Value{rate}) + " Gb/s, " + compared));
    findings_.back().evidence.emplace_back("rateGbps", rate);
  }

  // One finding per reason: for the first counter, in the catalog's order, that grows too fast.
  void judge_counters() {
    for (const FastCounter& fast : fast_counters(input_, subject_, kCounters, kWindow)) {
      const bool is_flaps = fast.most.id == "network.ib_port.flaps";
      const std::string_view reason = is_flaps ? "ib_flapping" : "ib_errors";
      if (std::ranges::find(findings_, reason, &Finding::reason) != findings_.end()) continue;
      const std::string name = counter_name(*fast.counter);
      findings_.push_back(make_finding(
          input_, subject_, reason, Health::degraded,
          subject_.key + (is_flaps ? " loses and regains its link: " : " has errors: ") + name + " grew by " +
              rounded(fast.growth) + " (limit " + rounded(fast.most.value) + " " + fast.most.unit + ")",
          fast.growth, fast.most));
      findings_.back().evidence.emplace_back("counter", name);
    }
  }

  void judge_unread_counters(bool is_infiniband) {
    auto why = why_unread(input_, subject_, kCounters, kWindow);
    const auto is_counter = [this](const Observation& observation) {
      return observation.subject == subject_ && observation.name.text().starts_with(kCounters.folder);
    };
    // Every InfiniBand port has counters; RoCE and EFA ports may lack them.
    if (!why && is_infiniband && std::ranges::none_of(input_.history.latest(), is_counter))
      why = "it has no readable counter";
    if (why)
      findings_.push_back(make_finding(input_, subject_, "ib_counters_untold", Health::unknown,
                                       subject_.key + ": new errors would not be noticed: " + *why));
  }

  const JudgeInput& input_;
  const Subject& subject_;
  const bool is_expected_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  const auto present = input.history.subjects(SubjectKind::nic_port);
  for (const Subject& subject : present) {
    if (contains(input.expectation.ignored_interfaces, subject.key)) continue;
    for (auto& finding : PortJudge(input, subject).judge())
      findings.push_back(std::move(finding));
  }
  for (const auto& name : input.expectation.expected_interfaces) {
    const auto slash = name.find('/');
    if (slash == std::string::npos) continue;  // an Ethernet interface
    // If the ports of a device could not be read, it is unknown which are missing.
    if (std::ranges::find(present, port_subject(name.substr(0, slash))) != present.end()) continue;
    if (std::ranges::find(present, port_subject(name)) == present.end())
      findings.push_back(make_finding(input, port_subject(name), "interface_missing", Health::failed,
                                      name + " is expected by the configuration, but missing"));
  }
  if (present.empty() && findings.empty())
    findings.push_back(
        make_finding(input, host_subject(), "not_present", Health::unsupported, "no RDMA device in sysfs"));
  return findings;
}

}  // namespace
}  // namespace network_ib_port

const Check kNetworkIbPort = {
    .info = {.id = "network.ib_port",
             .title = "InfiniBand ports",
             .tags = {"network", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{10},
             .window = network_ib_port::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(network_ib_port::kSysfs)},
             .rights = {},
             .needs_window = true,
             .baselines = {std::string(network_ib_port::kRate)}},
    .observe = network_ib_port::observe,
    .judge = network_ib_port::judge,
};

}  // namespace autopilot::checks
