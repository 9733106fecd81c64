// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"

// The checks of tests between nodes in pairs, which differ by what measured the pairs.
namespace autopilot::checks {
namespace network_pair_bandwidth {
namespace {

constexpr std::string_view kBandwidth = "network.bandwidth";
constexpr std::string_view kRdmaBandwidth = "network.rdma_bandwidth";
constexpr std::string_view kRdmaGpu = "network.rdma_gpu";
constexpr std::string_view kNcclAllreduce = "network.nccl_allreduce";

constexpr std::string_view kWitness = "probe";

// About the host: "measured", or "no_targets".
constexpr std::string_view kOutcome = "bandwidth.outcome";
// About each pair of nodes in one network, in bits per second: the data that arrived at the destination. The
// subject is link/<source>/<interface>|<destination>/<interface>; `source`, `source_pod`, `destination`,
// `destination_pod` and `interface` name its parts, `usual` is the usual value of such pairs, and over RDMA
// `latency_microseconds` and `latency_p99_microseconds` are the latencies of a small message. 0: no data
// arrived, and `problem` describes the failure. A pair that was not measured has an `error`.
constexpr std::string_view kReceived = "bandwidth.received";
// A suspect, by all measurements of the run; the value is the confidence, 0 to 1. The subject is peer/<node>,
// nic_port/<node>:<interface>, link/<node>/<interface>|<node>/<interface>, or peer/<what several have in
// common>. Attributes: `kind` ("node", "nic" and so on: fleet::SuspectKind), `loss` (share of the usual
// value), `partners` (number of low pairs whose other endpoint is fine with others), `unreachable` and
// `sentence`.
constexpr std::string_view kSuspect = "bandwidth.suspect";
// About a pair whose GPUs returned wrong sums, by an all-reduce only: 1, with `source`, `destination`,
// `interface`, `problem` and, if known, `wrong_at`, the node whose GPU got the wrong sum. The subject is the
// pair; it has no other finding.
constexpr std::string_view kWrong = "bandwidth.wrong";
// Without a value, with an `error`. kLeftOut: peer/<node> or nic_port/<node>:<interface> that should have
// been tested but was not. kDecision: a suspect whose culprit among its endpoints is undecided. kComparison,
// about the host: too few values to compare. kRest, about the host: the run ended before it was complete.
constexpr std::string_view kLeftOut = "bandwidth.left_out";
constexpr std::string_view kDecision = "bandwidth.decision";
constexpr std::string_view kComparison = "bandwidth.comparison";
constexpr std::string_view kRest = "bandwidth.rest";
constexpr std::string_view kNode = "node";
constexpr std::string_view kUndecided = "undecided";
constexpr std::array kFound{kReceived, kSuspect, kWrong, kLeftOut, kDecision, kComparison, kRest};

constexpr std::string_view kNoTargets = "no_targets";
constexpr std::array<std::string_view, 2> kOutcomes{"measured", kNoTargets};

std::string_view reason_for(const Subject& subject, std::string_view kind) {
  if (subject.kind == SubjectKind::peer)
    return kind == kNode ? "node_slower_than_others" : "shared_path_slow";
  return subject.kind == SubjectKind::nic_port ? "nic_slower_than_others" : "path_slower_than_others";
}

// Keys of the subjects that have a finding.
using Culprits = std::set<std::string>;

// The usual value depends on link, load and path, so the run itself decides which values are low compared
// with others.
Culprits judge_suspects(const JudgeInput& input, std::string_view id, Findings& findings) {
  Culprits culprits;
  const Limit least = limit(input, std::string(id) + ".confidence");
  for (const Observation& suspect : input.history.latest()) {
    if (suspect.name != kSuspect || !suspect.value) continue;
    const double confidence = as_number(*suspect.value).value_or(0);
    const std::string kind = attribute_text(suspect, "kind");
    if (confidence < least.value || kind == kUndecided) continue;
    findings.push_back(make_finding(input, suspect.subject, reason_for(suspect.subject, kind),
                                    Health::degraded, attribute_text(suspect, "sentence"), confidence,
                                    least));
    for (const auto& [name, value] : suspect.attributes)
      findings.back().evidence.emplace_back(name, value);
    findings.back().evidence.emplace_back("witness", suspect.source);
    culprits.insert(suspect.subject.key);
  }
  return culprits;
}

// "gpu-5:net0" of "gpu-5/net0".
std::string port_key(std::string_view end) {
  const auto slash = end.find('/');
  if (slash == std::string_view::npos) return std::string(end);
  return port_at(end.substr(0, slash), end.substr(slash + 1)).key;
}

// True if an earlier finding already explains that no data arrives.
bool is_explained(const Observation& pair, const Culprits& culprits) {
  const auto [source, destination] = ends_of(pair.subject);
  const std::string from(source);
  const std::string to(destination);
  return culprits.contains(from + "|" + to) || culprits.contains(to + "|" + from) ||
         culprits.contains(port_key(from)) || culprits.contains(port_key(to)) ||
         culprits.contains(attribute_text(pair, "source")) ||
         culprits.contains(attribute_text(pair, "destination"));
}

std::string silence(const Observation& pair) {
  const std::string problem = attribute_text(pair, "problem");
  return "no data from " + attribute_text(pair, "source") + " arrives at " +
         attribute_text(pair, "destination") + " over " + attribute_text(pair, "interface") +
         (problem.empty() ? "" : ": " + problem);
}

std::string wrong_sum_of(const Observation& pair) {
  const std::string at = attribute_text(pair, "wrong_at");
  return "the all-reduce of the GPUs of " + attribute_text(pair, "source") + " and " +
         attribute_text(pair, "destination") + " returned wrong sums" + (at.empty() ? "" : ", on " + at) +
         ": " + attribute_text(pair, "problem");
}

// Wrong sums are reported in addition to all suspects.
void judge_wrong(const JudgeInput& input, Findings& findings) {
  for (const Observation& pair : input.history.latest()) {
    if (pair.name != kWrong || !pair.value || as_number(*pair.value).value_or(0) <= 0) continue;
    findings.push_back(make_finding(input, pair.subject, "allreduce_wrong_between_nodes", Health::degraded,
                                    wrong_sum_of(pair)));
    findings.back().evidence = pair.attributes;
    findings.back().evidence.emplace_back("witness", pair.source);
  }
}

Findings judge(const JudgeInput& input, std::string_view id) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  const Culprits culprits = judge_suspects(input, id, findings);
  for (const Observation& pair : input.history.latest()) {
    if (pair.name != kReceived) continue;
    if (!pair.value || as_number(*pair.value).value_or(1) > 0 || is_explained(pair, culprits)) continue;
    findings.push_back(make_finding(input, pair.subject, "nothing_arrives", Health::degraded, silence(pair)));
    findings.back().evidence = pair.attributes;
    findings.back().evidence.emplace_back("witness", pair.source);
  }
  judge_wrong(input, findings);
  return findings;
}

// `Id` also names the check's threshold <id>.confidence.
template <const std::string_view& Id>
Check check_of(std::string title) {
  return {.info = active_check_info(Id, std::move(title), "network", kWitness),
          .observe = [](const host::Host& host,
                        const Request& request) { return last_results(host, request, Id, kWitness); },
          .judge = [](const JudgeInput& input) { return judge(input, Id); }};
}

}  // namespace
}  // namespace network_pair_bandwidth

const Check kNetworkBandwidth =
    network_pair_bandwidth::check_of<network_pair_bandwidth::kBandwidth>("Bandwidth between nodes");
const Check kNetworkRdmaBandwidth =
    network_pair_bandwidth::check_of<network_pair_bandwidth::kRdmaBandwidth>("RDMA between nodes");
const Check kNetworkRdmaGpu =
    network_pair_bandwidth::check_of<network_pair_bandwidth::kRdmaGpu>("GPU RDMA between nodes");
const Check kNetworkNcclAllreduce =
    network_pair_bandwidth::check_of<network_pair_bandwidth::kNcclAllreduce>("All-reduce between nodes");

}  // namespace autopilot::checks
