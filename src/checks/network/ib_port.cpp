// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/network/rates.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWindow = 1h;
constexpr std::string_view kSysfs = "sysfs";

constexpr std::string_view kPorts = "ports";
constexpr std::string_view kState = "state";
constexpr std::string_view kPhysicalState = "physical_state";
constexpr std::string_view kLinkLayer = "link_layer";
constexpr std::string_view kRate = "rate";
constexpr std::string_view kAdapter = "adapter";
constexpr std::string_view kLosses = "counters/link_downed";

// With fewer than so many others nobody can say which of them is right.
constexpr int kSiblings = 2;

Subject port_subject(std::string key) {
  Subject subject;
  subject.kind = SubjectKind::nic_port;
  subject.key = std::move(key);
  return subject;
}

class Collector {
 public:
  Collector(const host::Host& host, Observed& observed, Instant now)
      : host_(host), observed_(observed), now_(now) {}

  void add(const host::IbPort& port) {
    const Subject subject = port_subject(port.key());
    if (port.problem)
      add_missing(subject, kState, *port.problem);
    else
      add(subject, kState, port.state);
    if (!port.physical_state.empty()) add(subject, kPhysicalState, port.physical_state);
    add(subject, kLinkLayer, port.link_layer);
    if (port.rate_gbps) add(subject, kRate, *port.rate_gbps, "gbps");
    if (!port.adapter.empty()) add(subject, kAdapter, port.adapter);
    add_counters(port, subject);
  }

  void add(const Subject& subject, std::string_view name, Value value, std::string_view unit = "") {
    Observation observation = empty(subject, name);
    observation.value = std::move(value);
    observation.unit = unit;
    observed_.observations.push_back(std::move(observation));
  }

 private:
  [[nodiscard]] Observation empty(const Subject& subject, std::string_view name) const {
    Observation observation;
    observation.name = name;
    observation.subject = subject;
    observation.source = kSysfs;
    observation.time = now_;
    return observation;
  }

  void add_missing(const Subject& subject, std::string_view name, const Error& error) {
    Observation refused = empty(subject, name);
    refused.missing = to_string(error.code);
    refused.attributes = {{"error", error.what}};
    observed_.observations.push_back(std::move(refused));
  }

  // Every counter is a question to the firmware. A function that may not ask makes the firmware complain in
  // the kernel log, so nothing more is asked after the first refusal, and virtual functions are spared those
  // that they never may.
  void add_counters(const host::IbPort& port, const Subject& subject) {
    for (const auto& counter : catalog::builtin().counters()) {
      if (port.is_virtual_function && counter.path.starts_with("hw_counters/")) continue;
      const auto value = host::read_ib_counter(host_.files, port, counter.path);
      if (value) {
        const auto most = static_cast<std::uint64_t>(INT64_MAX);
        add(subject, counter.path, static_cast<std::int64_t>(std::min(*value, most)), counter.unit);
        continue;
      }
      if (value.error().code == Errc::not_found) continue;
      add_missing(subject, counter.path, value.error());
      if (value.error().code != Errc::malformed) return;
    }
  }

  const host::Host& host_;
  Observed& observed_;
  Instant now_;
};

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto ports = TRY(host::scan_ib_ports(host.files));
  Observed observed;
  observed.witnesses.emplace_back(kSysfs);
  Collector collector(host, observed, request.now);
  collector.add(host_subject(), kPorts, static_cast<std::int64_t>(ports.size()), "count");
  for (const auto& port : ports)
    collector.add(port);
  return observed;
}

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
    const bool is_infiniband = input_.history.word(subject_, kLinkLayer) == "InfiniBand";
    const auto state = input_.history.word(subject_, kState);
    if (is_infiniband || is_expected_) {
      if (state)
        judge_state(*state);
      else
        add_unreadable();
    }
    if (state && state->starts_with("active")) judge_rate();
    judge_counters();
    return std::move(findings_);
  }

 private:
  // How long the port has not been active; nothing where it never was as long as we looked.
  [[nodiscard]] std::optional<Duration> inactive_for() const {
    std::optional<Duration> since;
    for (const auto& sample : input_.history.samples(subject_, kState))
      if (to_string(sample.value).starts_with("active")) since = input_.now.mono - sample.time.mono;
    return since;
  }

  // Not yet, when it was active a moment ago.
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
        subject_.key + " does not tell its state" + (error == nullptr ? "" : ": " + to_string(*error))));
  }

  void judge_state(const std::string& state) {
    if (state.starts_with("active")) return;
    if (state == "init" || state == "armed") {
      if (!is_within(limit(input_, "network.ib_port.initialising_seconds")))
        add("ib_port_initialising", Health::degraded, "has a link but no subnet manager made it active");
      return;
    }
    const auto physical = input_.history.word(subject_, kPhysicalState).value_or("");
    if (physical == "disabled" && !is_expected_) {
      add("ib_port_disabled", Health::degraded, "is switched off");
      return;
    }
    if (is_within(limit(input_, "network.ib_port.down_seconds"))) return;
    // Whether somebody needs the port is known only from the configuration, or when it worked before.
    const bool was_active =
        inactive_for().has_value() || input_.history.number(subject_, kLosses).value_or(0) > 0;
    add("ib_port_down", is_expected_ || was_active ? Health::failed : Health::degraded,
        was_active ? "lost its link" : "has no link");
  }

  // Against the ports of equal adapters: what most of them run at. No table of products.
  void judge_rate() {
    const auto adapter = input_.history.word(subject_, kAdapter);
    const auto rate = input_.history.number(subject_, kRate);
    if (!adapter || !rate) return;
    std::map<double, int> rates;
    int siblings = 0;
    for (const Subject& other : input_.history.subjects(SubjectKind::nic_port)) {
      if (other == subject_ || input_.history.word(other, kAdapter) != adapter) continue;
      const auto other_rate = input_.history.number(other, kRate);
      if (!other_rate || !input_.history.word(other, kState).value_or("").starts_with("active")) continue;
      ++siblings;
      ++rates[*other_rate];
    }
    if (siblings < kSiblings) return;
    const auto common = std::ranges::max_element(rates, {}, [](const auto& entry) { return entry.second; });
    if (*rate >= common->first || common->second * 2 <= siblings) return;
    findings_.push_back(make_finding(input_, subject_, "ib_rate_low", Health::degraded,
                                     subject_.key + " runs at " + to_string(Value{*rate}) + " Gb/s, " +
                                         std::to_string(common->second) + " of its siblings at " +
                                         to_string(Value{common->first})));
    findings_.back().evidence = {{"rateGbps", *rate}, {"siblingsGbps", common->first}};
  }

  void judge_counters() {
    for (const auto& counter : input_.facts.counters()) {
      if (counter.threshold.empty()) continue;
      const auto value = input_.history.number(subject_, counter.path);
      if (!value) continue;
      // At the end of its width it says nothing more.
      if (const auto end = counter.saturation(); end && *value == static_cast<double>(*end)) continue;
      judge_growth(counter);
    }
  }

  void judge_growth(const catalog::Counter& counter) {
    const Limit most = limit(input_, counter.threshold);
    const bool is_flaps = counter.threshold == "network.ib_port.flaps";
    const std::string_view reason = is_flaps ? "ib_flapping" : "ib_errors";
    const auto growth = growth_above(input_, subject_, counter.path, most, kWindow);
    if (!growth) return;
    // One finding per reason: the first counter of the catalog's order that is too fast.
    for (const auto& finding : findings_)
      if (finding.reason == reason) return;
    const std::string name = counter.path.substr(counter.path.rfind('/') + 1);
    findings_.push_back(make_finding(input_, subject_, reason, Health::degraded,
                                     subject_.key + (is_flaps ? " goes up and down" : " has errors: " + name),
                                     *growth, most));
    findings_.back().evidence.emplace_back("counter", name);
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
    if (name.find('/') == std::string::npos) continue;  // an Ethernet interface
    if (std::ranges::find(present, port_subject(name)) == present.end())
      findings.push_back(make_finding(input, port_subject(name), "interface_missing", Health::failed,
                                      name + " is expected and not here"));
  }
  if (present.empty() && findings.empty())
    findings.push_back(
        make_finding(input, host_subject(), "not_present", Health::unsupported, "no RDMA device in sysfs"));
  return findings;
}

}  // namespace

const Check kNetworkIbPort = {
    .info = {.id = "network.ib_port",
             .title = "InfiniBand ports",
             .tags = {"network", "passive"},
             .period = 30s,
             .deadline = 10s,
             .window = kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(kSysfs)},
             .rights = {},
             .needs_window = true},
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
