// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kId = "network.ping";
constexpr std::string_view kWitness = "probe";

// Of the host: "ended", or "no_targets"; `pod` is the one that asked.
constexpr std::string_view kOutcome = "ping.outcome";
// Of each node (peer/<node>): how many of its addresses did not answer; missing where this node asked none of
// them, those of `unasked`. `addresses` names all of them, "eth0=10.1.0.7 net1-0=10.2.0.7"; `silent` those
// without an answer, "net1-0"; `through` the interface of this node by which each of those was asked,
// "net1-0".
constexpr std::string_view kSilent = "ping.silent";
// Of each interface of this node, of each family: how many addresses were asked there, of how many nodes, and
// how many of the addresses gave no answer.
constexpr std::string_view kAskedIpv4 = "ping.asked.ipv4";
constexpr std::string_view kAskedIpv6 = "ping.asked.ipv6";
constexpr std::string_view kAskedNodesIpv4 = "ping.asked_nodes.ipv4";
constexpr std::string_view kAskedNodesIpv6 = "ping.asked_nodes.ipv6";
constexpr std::string_view kUnansweredIpv4 = "ping.unanswered.ipv4";
constexpr std::string_view kUnansweredIpv6 = "ping.unanswered.ipv6";
// Of a way between two interfaces (link/<node>/<interface>|<node>/<interface>) about which something is odd,
// though it answers: the share of questions without an answer, with `interface` and `node`; of answers that
// came twice, and out of order; how long most took, and most of the other ways of that interface (seconds);
// the largest packets of interface and way (bytes).
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

// Of fewer nodes there is no telling them from the interface by which they are asked.
constexpr double kFewNodes = 3;

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

double number(const JudgeInput& input, const Subject& subject, std::string_view name) {
  return input.history.number(subject, name).value_or(0);
}

Subject port(std::string name) {
  Subject subject;
  subject.kind = SubjectKind::nic_port;
  subject.key = std::move(name);
  return subject;
}

double asked_at(const JudgeInput& input, const Subject& port) {
  return number(input, port, kAskedIpv4) + number(input, port, kAskedIpv6);
}

double nodes_asked_at(const JudgeInput& input, const Subject& port) {
  return std::max(number(input, port, kAskedNodesIpv4), number(input, port, kAskedNodesIpv6));
}

// Interfaces of this node by which nobody at all answers, though several were asked.
std::set<std::string> dead_interfaces(const JudgeInput& input, Findings& findings) {
  std::set<std::string> dead;
  for (const Subject& port : input.history.subjects(SubjectKind::nic_port)) {
    const double asked = asked_at(input, port);
    const double silent = number(input, port, kUnansweredIpv4) + number(input, port, kUnansweredIpv6);
    if (nodes_asked_at(input, port) < kFewNodes || silent < asked) continue;
    dead.insert(port.key);
    findings.push_back(make_finding(
        input, port, "interface_reaches_nobody", Health::degraded,
        "none of " + rounded(asked) + " addresses of other nodes answers by way of " + port.key));
    findings.back().evidence = {{"asked", asked}, {"witness", std::string(kWitness)}};
  }
  return dead;
}

// The addresses of a node that are silent though the interface by which they were asked reaches others.
std::string silent_beside(const Observation& asked, const std::set<std::string>& dead) {
  const std::string silent = attribute_text(asked, "silent");
  const std::string through = attribute_text(asked, "through");
  const auto names = split_words(silent);
  const auto interfaces = split_words(through);
  std::string beside;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (i >= interfaces.size() || !dead.contains(std::string(interfaces[i])))
      beside.append(beside.empty() ? "" : " ").append(names[i]);
  return beside;
}

void judge_nodes(const JudgeInput& input, const std::set<std::string>& dead, Findings& findings) {
  for (const Observation& asked : input.history.latest()) {
    if (asked.name != kSilent) continue;
    if (!asked.value || as_number(*asked.value).value_or(0) == 0) continue;
    const std::string silent = silent_beside(asked, dead);
    if (silent.empty()) continue;
    findings.push_back(make_finding(input, asked.subject, "node_does_not_answer", Health::degraded,
                                    asked.subject.key + " does not answer at " + silent));
    findings.back().evidence = asked.attributes;
    findings.back().evidence.emplace_back("witness", asked.source);
  }
}

// What may be wrong with a way that answers.
struct Oddity {
  std::string_view reason;
  std::string_view threshold;
  // What is held against the threshold.
  double (*value)(const JudgeInput& input, const Subject& link);
  std::string (*text)(double value);
};

constexpr std::array kOddities{
    Oddity{"path_loses_packets", "network.ping.loss",
           [](const JudgeInput& input, const Subject& link) { return number(input, link, kLoss); },
           [](double value) { return "loses " + percent(value) + " of the questions"; }},
    Oddity{"path_is_late", "network.ping.late",
           [](const JudgeInput& input, const Subject& link) {
             return number(input, link, kLatency) - number(input, link, kLatencyOfOthers);
           },
           [](double value) { return "takes " + rounded(1000 * value) + " ms longer than others"; }},
    Oddity{"path_duplicates_packets", "network.ping.duplicates",
           [](const JudgeInput& input, const Subject& link) { return number(input, link, kDuplicates); },
           [](double value) { return "brings " + percent(value) + " of the answers twice"; }},
    Oddity{"path_reorders_packets", "network.ping.out_of_order",
           [](const JudgeInput& input, const Subject& link) { return number(input, link, kOutOfOrder); },
           [](double value) { return "brings " + percent(value) + " of the answers out of order"; }},
    Oddity{"path_mtu_too_small", "network.ping.mtu_lacks",
           [](const JudgeInput& input, const Subject& link) {
             return number(input, link, kInterfaceMtu) - number(input, link, kPathMtu);
           },
           [](double value) {
             return "passes no packet as large as the interface sends: " + rounded(value) + " bytes less";
           }},
};

struct OddWay {
  const Observation* loss = nullptr;  // has the names of both ends
  double value = 0;
};

void add_way(const JudgeInput& input, const Oddity& oddity, const Limit& most, const OddWay& way,
             Findings& findings) {
  findings.push_back(make_finding(input, way.loss->subject, oddity.reason, Health::degraded,
                                  "the way from " + attribute_text(*way.loss, "interface") + " to " +
                                      attribute_text(*way.loss, "node") + " " + oddity.text(way.value),
                                  way.value, most));
  for (const auto& [name, value] : way.loss->attributes)
    findings.back().evidence.emplace_back(name, value);
  findings.back().evidence.emplace_back("witness", way.loss->source);
}

// What most ways of an interface have is its own.
void judge_oddity(const JudgeInput& input, const Oddity& oddity, Findings& findings) {
  const Limit most = limit(input, oddity.threshold);
  std::map<std::string, std::vector<OddWay>> odd;
  for (const Observation& loss : input.history.latest()) {
    if (loss.name != kLoss || !loss.value) continue;
    const double value = oddity.value(input, loss.subject);
    if (value >= most.value) odd[attribute_text(loss, "interface")].push_back({&loss, value});
  }
  for (const auto& [interface, ways] : odd) {
    std::set<std::string> nodes;
    for (const OddWay& way : ways)
      nodes.insert(attribute_text(*way.loss, "node"));
    const auto count = static_cast<double>(nodes.size());
    if (count < kFewNodes || 2 * count <= nodes_asked_at(input, port(interface))) {
      for (const OddWay& way : ways)
        add_way(input, oddity, most, way, findings);
      continue;
    }
    double worst = 0;
    for (const OddWay& way : ways)
      worst = std::max(worst, way.value);
    findings.push_back(make_finding(input, port(interface), oddity.reason, Health::degraded,
                                    "the ways from " + interface + " to " + rounded(count) +
                                        " nodes have it; the worst " + oddity.text(worst),
                                    worst, most));
    findings.back().evidence.emplace_back("witness", std::string(kWitness));
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  const auto dead = dead_interfaces(input, findings);
  judge_nodes(input, dead, findings);
  for (const Oddity& oddity : kOddities)
    judge_oddity(input, oddity, findings);
  return findings;
}

}  // namespace

const Check kNetworkPing = {
    .info = active_check_info(kId, "Answers of other nodes", "network", kWitness),
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
