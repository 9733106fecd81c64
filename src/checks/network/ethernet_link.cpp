// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/network/port_counters.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_ethernet_link {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWindow = 10min;
// Limit of virtual interfaces (usually one for each container); others are not shown.
constexpr std::size_t kMaxVirtual = 256;

constexpr std::string_view kPhysical = "physical";
constexpr std::string_view kUp = "up";
constexpr std::string_view kCarrier = "carrier";
constexpr std::string_view kCarrierChanges = "carrier_changes";
constexpr std::string_view kSpeed = "speed";
constexpr std::string_view kDuplex = "duplex";
constexpr std::string_view kBond = "bond";
constexpr std::string_view kErrors = "errors";
constexpr std::string_view kCrcErrors = "crc_errors";

// Up once and down again: a port that never had a link since boot has at most one change.
constexpr double kHadLink = 2;

Subject port(const std::string& name) {
  return make_subject(SubjectKind::nic_port, name);
}

void add_link(const host::EthernetLink& link, std::string_view source, ObservationBuilder& seen) {
  const Subject subject = port(link.name);
  if (const auto& problem = link.problem) {
    seen.add_missing(subject, kUp, source, to_string(problem->code), problem->what);
    return;
  }
  seen.add(subject, kPhysical, source, link.is_physical);
  seen.add(subject, kUp, source, link.is_up);
  seen.add(subject, kCarrier, source, link.has_carrier);
  if (!link.is_physical) return;
  seen.add_count(subject, kCarrierChanges, source, link.carrier_changes);
  if (link.speed_mbps) seen.add(subject, kSpeed, source, std::int64_t{*link.speed_mbps}, "mbps");
  if (!link.duplex.empty()) seen.add(subject, kDuplex, source, link.duplex);
  if (!link.bond_master.empty()) seen.add(subject, kBond, source, link.bond_master);
  seen.add_count(subject, kErrors, source, link.rx_errors + link.tx_errors);
  seen.add_count(subject, kCrcErrors, source, link.rx_crc_errors);
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto links = TRY(host.ethernet.links(request.deadline));
  const std::string witness = host.files.is_tree() ? "sysfs" : "netlink";
  Observed observed;
  observed.witnesses.push_back(witness);
  ObservationBuilder seen(request.now);
  std::size_t virtual_links = 0;
  for (const auto& link : links) {
    if (link.is_infiniband) continue;  // network.ib_port checks its port
    if (!link.is_physical && !link.problem && ++virtual_links > kMaxVirtual) continue;
    add_link(link, witness, seen);
  }
  observed.observations = seen.take();
  return observed;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class LinkJudge {
 public:
  LinkJudge(const JudgeInput& input, const Subject& subject)
      : input_(input),
        subject_(subject),
        is_expected_(contains(input.expectation.expected_interfaces, subject.key)) {}

  Findings judge() {
    if (judge_problem()) return std::move(findings_);
    const bool is_physical = is_true(kPhysical);
    if (!is_physical && !is_expected_) return {};
    if (!is_true(kUp)) {  // switched off by the administrator, unless the configuration expects it
      if (is_expected_)
        add("link_down", Health::failed, "is switched off, but the configuration expects it to be up");
      return std::move(findings_);
    }
    if (!is_true(kCarrier)) judge_missing_link();
    if (is_physical) {
      judge_flaps();
      if (is_true(kCarrier)) judge_quality();
    }
    return std::move(findings_);
  }

 private:
  [[nodiscard]] bool is_true(std::string_view name) const {
    return input_.history.number(subject_, name).value_or(0) != 0;
  }

  void add(std::string_view reason, Health health, const std::string& what) {
    findings_.push_back(make_finding(input_, subject_, reason, health, subject_.key + " " + what));
  }
  void add(std::string_view reason, const std::string& what, double value, const Limit& most) {
    findings_.push_back(
        make_finding(input_, subject_, reason, Health::degraded, subject_.key + " " + what, value, most));
  }

  [[nodiscard]] bool judge_problem() {
    const Observation* up = input_.history.find(subject_, kUp);
    if (up == nullptr || up->missing.empty()) return false;
    const Value* error = find_attribute(up->attributes, "error");
    add("could_not_look", Health::unknown,
        "could not be read: " + (error == nullptr ? up->missing.text() : to_string(*error)));
    return true;
  }

  // A port without a link since boot is unused, not failed.
  void judge_missing_link() {
    const bool had_link = input_.history.number(subject_, kCarrierChanges).value_or(0) >= kHadLink;
    if (!is_expected_ && !had_link) return;
    const auto bond = input_.history.word(subject_, kBond);
    if (bond && !is_expected_)
      add("link_down", Health::degraded, "lost its link; " + *bond + " has lost a member");
    else
      add("link_down", Health::failed,
          had_link ? "lost its link" : "has no link, but the configuration expects it to be up");
  }

  void judge_flaps() {
    const Limit most = limit(input_, "network.ethernet_link.flaps");
    if (const auto changes = growth_above(input_, subject_, kCarrierChanges, most, kWindow))
      add("link_flapping",
          "lost or regained its link " + to_string(Value{static_cast<std::int64_t>(*changes)}) +
              " times in " + format_duration(kWindow) + " (limit " + rounded(most.value) + ")",
          *changes, most);
  }

  void judge_quality() {
    const Limit least = limit(input_, "network.ethernet_link.minimum_speed");
    const auto speed = input_.history.number(subject_, kSpeed);
    if (speed && *speed < least.value)
      add("link_speed_low",
          "runs at " + to_string(Value{static_cast<std::int64_t>(*speed)}) + " Mb/s, expected: at least " +
              rounded(least.value),
          *speed, least);
    if (input_.history.word(subject_, kDuplex) == "half")
      add("half_duplex", Health::degraded, "runs in half duplex");
    const Limit most = limit(input_, "network.ethernet_link.errors_per_second");
    if (const auto rate = growth_above(input_, subject_, kErrors, most, kWindow))
      add("link_errors", "has " + rounded(*rate) + " errors per second (limit " + rounded(most.value) + ")",
          *rate, most);
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
    for (auto& finding : LinkJudge(input, subject).judge())
      findings.push_back(std::move(finding));
  }
  for (const auto& name : input.expectation.expected_interfaces) {
    if (name.find('/') != std::string::npos) continue;  // an InfiniBand port
    if (std::ranges::find(present, port(name)) == present.end())
      findings.push_back(make_finding(input, port(name), "interface_missing", Health::failed,
                                      name + " is expected by the configuration, but missing"));
  }
  return findings;
}

}  // namespace
}  // namespace network_ethernet_link

const Check kNetworkEthernetLink = {
    .info = {.id = "network.ethernet_link",
             .title = "Ethernet links",
             .tags = {"network", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{5},
             .window = network_ethernet_link::kWindow,
             .cost = Cost::cheap,
             .witnesses = {"netlink", "sysfs"},
             .rights = {},
             .needs_window = false,
             .judges_growth = true},
    .observe = network_ethernet_link::observe,
    .judge = network_ethernet_link::judge,
};

}  // namespace autopilot::checks
