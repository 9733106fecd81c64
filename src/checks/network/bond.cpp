// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace network_bond {
namespace {

constexpr std::string_view kSysfs = "sysfs";

// About a bond.
constexpr std::string_view kMode = "bond.mode";
constexpr std::string_view kUp = "bond.up";
constexpr std::string_view kPartner = "bond.has_partner";
constexpr std::string_view kAggregator = "bond.aggregator";
// About a member; `bond` is an attribute of the first.
constexpr std::string_view kLink = "member.link";
constexpr std::string_view kMemberAggregator = "member.aggregator";

Subject port(const std::string& name) {
  return make_subject(SubjectKind::nic_port, name);
}

void add_bond(const host::Bond& bond, ObservationBuilder& seen) {
  const Subject subject = port(bond.name);
  if (bond.problem) {
    seen.add_missing(subject, kMode, kSysfs, to_string(bond.problem->code), bond.problem->what);
    return;
  }
  seen.add(subject, kMode, kSysfs, bond.mode);
  seen.add(subject, kUp, kSysfs, bond.is_up);
  if (bond.aggregator) seen.add(subject, kAggregator, kSysfs, std::int64_t{*bond.aggregator});
  if (bond.has_partner) seen.add(subject, kPartner, kSysfs, *bond.has_partner);
  for (const host::BondMember& member : bond.members) {
    seen.add(port(member.name), kLink, kSysfs, member.link).attributes = {{"bond", bond.name}};
    if (member.aggregator)
      seen.add(port(member.name), kMemberAggregator, kSysfs, std::int64_t{*member.aggregator});
  }
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  const auto bonds = TRY(host::scan_bonds(host.files));
  if (bonds.empty()) return fail(Errc::unsupported, "the kernel has no bond");
  ObservationBuilder seen(request.now);
  for (const host::Bond& bond : bonds)
    add_bond(bond, seen);
  Observed observed;
  observed.witnesses = {std::string(kSysfs)};
  observed.observations = seen.take();
  return observed;
}

class BondJudge {
 public:
  BondJudge(const JudgeInput& input, const Observation& mode)
      : input_(input), bond_(mode.subject), mode_(mode) {}

  [[nodiscard]] std::optional<Finding> finding() {
    if (is_ignored(bond_.key)) return std::nullopt;
    if (!mode_.missing.empty())
      return make("could_not_look", Health::unknown,
                  "could not be read: " + to_string(*find_attribute(mode_.attributes, "error")));
    if (number(kUp) == 0.0) return std::nullopt;  // switched off by the administrator
    read_members();
    if (members_ == 0) return make("bond_degraded", Health::degraded, "has no member");
    if (up_ == 0 && down_.empty()) return std::nullopt;  // all of them are ignored
    if (up_ == 0) return make("bond_down", Health::failed, "has no member with a link (" + down_ + ")");
    if (!down_.empty()) return make("bond_degraded", Health::degraded, "lost a member: " + down_);
    if (number(kPartner) == 0.0)
      return make("bond_lacp", Health::degraded,
                  "gets no LACP answer from the switch: only one member carries traffic");
    if (!apart_.empty())
      return make("bond_lacp", Health::degraded,
                  "does not carry traffic over " + apart_ + ": LACP put it into another aggregator");
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    return input_.history.number(bond_, name);
  }
  [[nodiscard]] bool is_ignored(const std::string& name) const {
    const auto& ignored = input_.expectation.ignored_interfaces;
    return std::ranges::find(ignored, name) != ignored.end();
  }

  void read_members() {
    const auto aggregator = number(kAggregator);
    for (const Observation& link : input_.history.latest()) {
      if (link.name != kLink || !link.value ||
          to_string(*find_attribute(link.attributes, "bond")) != bond_.key)
        continue;
      const std::string& name = link.subject.key;
      ++members_;
      if (is_ignored(name)) continue;
      if (to_string(*link.value) != "up") {
        append(down_, name + " is " + to_string(*link.value));
        continue;
      }
      ++up_;
      const auto own = input_.history.number(link.subject, kMemberAggregator);
      if (aggregator && own && *own != *aggregator) append(apart_, name);
    }
  }
  static void append(std::string& list, const std::string& what) {
    list += (list.empty() ? "" : ", ") + what;
  }

  [[nodiscard]] Finding make(std::string_view reason, Health health, const std::string& what) const {
    Finding finding = make_finding(input_, bond_, reason, health, bond_.key + " " + what);
    if (mode_.value) finding.evidence.emplace_back("mode", *mode_.value);
    finding.evidence.emplace_back("witness", std::string(kSysfs));
    return finding;
  }

  const JudgeInput& input_;
  const Subject& bond_;
  const Observation& mode_;
  int members_ = 0;
  int up_ = 0;
  std::string down_;   // "eth1 is down"
  std::string apart_;  // names
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Observation& observation : input.history.latest())
    if (observation.name == kMode)
      if (auto finding = BondJudge(input, observation).finding()) findings.push_back(*std::move(finding));
  return findings;
}

}  // namespace
}  // namespace network_bond

const Check kNetworkBond = {
    .info = {.id = "network.bond",
             .title = "Bonds",
             .tags = {"network", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::minutes{10},
             .cost = Cost::cheap,
             .witnesses = {std::string(network_bond::kSysfs)},
             .rights = {},
             .needs_window = false},
    .observe = network_bond::observe,
    .judge = network_bond::judge,
};

}  // namespace autopilot::checks
