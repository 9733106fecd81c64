// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace network_ping {
namespace {

constexpr std::string_view kId = "network.ping";
constexpr std::string_view kWitness = "probe";

// About the host: "ended", or "no_targets"; `pod` is the pod that sent the pings.
constexpr std::string_view kOutcome = "ping.outcome";
// About each node (peer/<node>): the number of its addresses that did not answer; missing if this node pinged
// none of them (`unasked`). `addresses` has all of them, "eth0=10.1.0.7 net1-0=10.2.0.7"; `silent` those
// without an answer, "net1-0"; `through` the interface of this node that pinged each silent address,
// "net1-0".
constexpr std::string_view kSilent = "ping.silent";
// About each interface of this node and each family: number of pinged addresses, of their nodes, and of
// addresses without an answer; with an answer also the median latency.
constexpr std::string_view kAskedIpv4 = "ping.asked.ipv4";
constexpr std::string_view kAskedIpv6 = "ping.asked.ipv6";
constexpr std::string_view kAskedNodesIpv4 = "ping.asked_nodes.ipv4";
constexpr std::string_view kAskedNodesIpv6 = "ping.asked_nodes.ipv6";
constexpr std::string_view kUnansweredIpv4 = "ping.unanswered.ipv4";
constexpr std::string_view kUnansweredIpv6 = "ping.unanswered.ipv6";
constexpr std::string_view kLatencyIpv4 = "ping.latency_median.ipv4";
constexpr std::string_view kLatencyIpv6 = "ping.latency_median.ipv6";
// About a path between two interfaces (link/<node>/<interface>|<node>/<interface>) that answers but is
// abnormal: share of pings without an answer, with `interface` and `node`; share of answers that came twice,
// and out of order; median latency, and that of the other paths of the interface (seconds); largest packets
// of interface and path (bytes).
constexpr std::string_view kLoss = "ping.loss";
constexpr std::string_view kDuplicates = "ping.duplicates";
constexpr std::string_view kOutOfOrder = "ping.out_of_order";
constexpr std::string_view kLatency = "ping.latency";
constexpr std::string_view kLatencyOfOthers = "ping.latency_of_others";
constexpr std::string_view kInterfaceMtu = "ping.interface_mtu";
constexpr std::string_view kPathMtu = "ping.path_mtu";
constexpr std::array kFound{kSilent, kAskedIpv4, kAskedIpv6, kLoss};

constexpr std::string_view kNoTargets = "no_targets";
constexpr std::array<std::string_view, 2> kOutcomes{"ended", kNoTargets};

// With fewer silent nodes it is undecidable whether the nodes or the interface of this node are at fault.
constexpr double kFewNodes = 3;

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

double number(const JudgeInput& input, const Subject& subject, std::string_view name) {
  return input.history.number(subject, name).value_or(0);
}

Subject port(std::string name) {
  return make_subject(SubjectKind::nic_port, std::move(name));
}

double asked_at(const JudgeInput& input, const Subject& port) {
  return number(input, port, kAskedIpv4) + number(input, port, kAskedIpv6);
}

double nodes_asked_at(const JudgeInput& input, const Subject& port) {
  return std::max(number(input, port, kAskedNodesIpv4), number(input, port, kAskedNodesIpv6));
}

// Names of the observations about an interface of this node in one family.
struct Family {
  std::string_view name;
  std::string_view asked;
  std::string_view nodes;
  std::string_view unanswered;
  std::string_view latency;
};
constexpr std::array kFamilies{Family{"IPv4", kAskedIpv4, kAskedNodesIpv4, kUnansweredIpv4, kLatencyIpv4},
                               Family{"IPv6", kAskedIpv6, kAskedNodesIpv6, kUnansweredIpv6, kLatencyIpv6}};

// Interfaces of this node, each with a family, through which no address answers.
using SilentInterfaces = std::set<std::pair<std::string, std::string_view>>;

std::string_view family_of(std::string_view addresses, std::string_view name) {
  for (const std::string_view one : split_words(addresses))
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return kFamilies[one.find(':') == std::string_view::npos ? 0 : 1].name;
  return {};
}

// A silent address of a node, with the interface and family that pinged it.
struct SilentAddress {
  std::string name;
  std::pair<std::string, std::string_view> through;
};

std::vector<SilentAddress> silent_addresses(const Observation& asked) {
  const std::string addresses = attribute_text(asked, "addresses");
  const std::string silent = attribute_text(asked, "silent");
  const std::string through = attribute_text(asked, "through");
  const auto names = split_words(silent);
  const auto interfaces = split_words(through);
  std::vector<SilentAddress> found;
  for (std::size_t i = 0; i < names.size(); ++i)
    found.push_back(
        {std::string(names[i]),
         {i < interfaces.size() ? std::string(interfaces[i]) : "", family_of(addresses, names[i])}});
  return found;
}

// Addresses without an answer at an interface of this node.
struct Silence {
  double asked = 0;
  double nodes = 0;
  SilentInterfaces interfaces;
  // The other family gets answers, so the link works.
  bool is_link_alive = false;
};

Silence silence_at(const JudgeInput& input, const Subject& port) {
  Silence silence;
  for (const Family& family : kFamilies) {
    if (input.history.number(port, family.latency)) silence.is_link_alive = true;
    const double asked = number(input, port, family.asked);
    if (asked == 0 || number(input, port, family.unanswered) < asked) continue;
    silence.asked += asked;
    silence.nodes = std::max(silence.nodes, number(input, port, family.nodes));
    silence.interfaces.insert({port.key, family.name});
  }
  return silence;
}

// "node-2 and node-3": nodes with an address that is silent through one of these interfaces.
std::string nodes_behind(const JudgeInput& input, const SilentInterfaces& interfaces) {
  std::string nodes;
  for (const Observation& asked : input.history.latest()) {
    if (asked.name != kSilent || !asked.value) continue;
    const auto is_behind = [&interfaces](const SilentAddress& one) {
      return interfaces.contains(one.through);
    };
    if (std::ranges::any_of(silent_addresses(asked), is_behind))
      nodes += (nodes.empty() ? "" : " and ") + asked.subject.key;
  }
  return nodes;
}

void add_silent_interface(const JudgeInput& input, const Subject& port, const Silence& silence,
                          Findings& findings) {
  std::string text =
      "none of " + rounded(silence.asked) + " addresses of other nodes answers through " + port.key;
  if (silence.asked < asked_at(input, port))
    text += " over " + std::string(silence.interfaces.begin()->second);
  std::string_view reason = "interface_reaches_nobody";
  if (silence.is_link_alive) {
    reason = "family_reaches_nobody";
  } else if (silence.nodes < kFewNodes) {
    reason = "interface_or_nodes_silent";
    text += ": the fault is at this interface or at " + nodes_behind(input, silence.interfaces) +
            "; too few nodes were pinged to decide";
  }
  findings.push_back(make_finding(input, port, reason, Health::degraded, std::move(text)));
  findings.back().evidence = {{"asked", silence.asked}, {"witness", std::string(kWitness)}};
}

// On a working link one or two silent nodes are themselves at fault, for example where few nodes have IPv6.
SilentInterfaces silent_interfaces(const JudgeInput& input, Findings& findings) {
  SilentInterfaces interfaces;
  for (const Subject& port : input.history.subjects(SubjectKind::nic_port)) {
    Silence silence = silence_at(input, port);
    if (silence.interfaces.empty() || (silence.is_link_alive && silence.nodes < kFewNodes)) continue;
    add_silent_interface(input, port, silence, findings);
    interfaces.merge(silence.interfaces);
  }
  return interfaces;
}

// Silent addresses of a node, although others answer through the same interface.
std::string silent_beside(const Observation& asked, const SilentInterfaces& interfaces) {
  std::string beside;
  for (const SilentAddress& one : silent_addresses(asked))
    if (!interfaces.contains(one.through)) beside.append(beside.empty() ? "" : " ").append(one.name);
  return beside;
}

void judge_nodes(const JudgeInput& input, const SilentInterfaces& interfaces, Findings& findings) {
  for (const Observation& asked : input.history.latest()) {
    if (asked.name != kSilent) continue;
    if (!asked.value || as_number(*asked.value).value_or(0) == 0) continue;
    const std::string silent = silent_beside(asked, interfaces);
    if (silent.empty()) continue;
    findings.push_back(make_finding(input, asked.subject, "node_does_not_answer", Health::degraded,
                                    asked.subject.key + " does not answer at " + silent));
    findings.back().evidence = asked.attributes;
    findings.back().evidence.emplace_back("witness", asked.source);
  }
}

// An abnormality of a path that answers.
struct Oddity {
  std::string_view reason;
  std::string_view threshold;
  // Value that is compared with the threshold.
  double (*value)(const JudgeInput& input, const Subject& link);
  std::string (*text)(double value);
};

constexpr std::array kOddities{
    Oddity{"path_loses_packets", "network.ping.loss",
           [](const JudgeInput& input, const Subject& link) { return number(input, link, kLoss); },
           [](double value) { return "loses " + percent(value) + " of the pings"; }},
    Oddity{"path_is_late", "network.ping.late",
           [](const JudgeInput& input, const Subject& link) {
             return number(input, link, kLatency) - number(input, link, kLatencyOfOthers);
           },
           [](double value) { return "takes " + rounded(1000 * value) + " ms longer than other paths"; }},
    Oddity{"path_duplicates_packets", "network.ping.duplicates",
           [](const JudgeInput& input, const Subject& link) { return number(input, link, kDuplicates); },
           [](double value) { return "duplicates " + percent(value) + " of the answers"; }},
    Oddity{"path_reorders_packets", "network.ping.out_of_order",
           [](const JudgeInput& input, const Subject& link) { return number(input, link, kOutOfOrder); },
           [](double value) { return "delivers " + percent(value) + " of the answers out of order"; }},
    Oddity{
        "path_mtu_too_small", "network.ping.mtu_lacks",
        [](const JudgeInput& input, const Subject& link) {
          return number(input, link, kInterfaceMtu) - number(input, link, kPathMtu);
        },
        [](double value) { return "has an MTU " + rounded(value) + " bytes below that of the interface"; }},
};

struct OddPath {
  const Observation* loss = nullptr;  // has the names of both endpoints
  double value = 0;
};

void add_path(const JudgeInput& input, const Oddity& oddity, const Limit& most, const OddPath& path,
              Findings& findings) {
  findings.push_back(make_finding(input, path.loss->subject, oddity.reason, Health::degraded,
                                  "the path from " + attribute_text(*path.loss, "interface") + " to " +
                                      attribute_text(*path.loss, "node") + " " + oddity.text(path.value),
                                  path.value, most));
  for (const auto& [name, value] : path.loss->attributes)
    findings.back().evidence.emplace_back(name, value);
  findings.back().evidence.emplace_back("witness", path.loss->source);
}

// An abnormality of most paths of an interface is reported for the interface.
void judge_oddity(const JudgeInput& input, const Oddity& oddity, Findings& findings) {
  const Limit most = limit(input, oddity.threshold);
  std::map<std::string, std::vector<OddPath>> odd;
  for (const Observation& loss : input.history.latest()) {
    if (loss.name != kLoss || !loss.value) continue;
    const double value = oddity.value(input, loss.subject);
    if (value >= most.value) odd[attribute_text(loss, "interface")].push_back({&loss, value});
  }
  for (const auto& [interface, paths] : odd) {
    std::set<std::string> nodes;
    for (const OddPath& path : paths)
      nodes.insert(attribute_text(*path.loss, "node"));
    const auto count = static_cast<double>(nodes.size());
    if (count < kFewNodes || 2 * count <= nodes_asked_at(input, port(interface))) {
      for (const OddPath& path : paths)
        add_path(input, oddity, most, path, findings);
      continue;
    }
    double worst = 0;
    for (const OddPath& path : paths)
      worst = std::max(worst, path.value);
    findings.push_back(make_finding(input, port(interface), oddity.reason, Health::degraded,
                                    "most paths from " + interface + ", to " + rounded(count) +
                                        " nodes, are abnormal; the worst " + oddity.text(worst),
                                    worst, most));
    findings.back().evidence.emplace_back("witness", std::string(kWitness));
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  const SilentInterfaces interfaces = silent_interfaces(input, findings);
  judge_nodes(input, interfaces, findings);
  for (const Oddity& oddity : kOddities)
    judge_oddity(input, oddity, findings);
  return findings;
}

}  // namespace
}  // namespace network_ping

const Check kNetworkPing = {
    .info = active_check_info(network_ping::kId, "Reachability of other nodes", "network",
                              network_ping::kWitness),
    .observe = network_ping::observe,
    .judge = network_ping::judge,
};

}  // namespace autopilot::checks
