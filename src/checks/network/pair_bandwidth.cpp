// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

// The checks of tests between nodes in pairs, which differ by what measured the pairs.
namespace autopilot::checks {
namespace network_pair_bandwidth {
namespace {

constexpr std::string_view kBandwidth = "network.bandwidth";
constexpr std::string_view kRdmaBandwidth = "network.rdma_bandwidth";
constexpr std::string_view kRdmaGpu = "network.rdma_gpu";
constexpr std::string_view kNcclAllreduce = "network.nccl_allreduce";

constexpr std::string_view kWitness = "probe";

// Of the host: "measured", or "no_targets".
constexpr std::string_view kOutcome = "bandwidth.outcome";
// Of each pair of nodes in one network, in bits per second: what arrived there of what the other end sent.
// The subject is link/<source>/<interface>|<destination>/<interface>; `source`, `source_pod`, `destination`,
// `destination_pod` and `interface` name its parts, `usual` is what such pairs have, and by RDMA
// `latency_microseconds` and `latency_p99_microseconds` are those of a small message. 0: nothing arrived,
// `problem` says what was seen instead; one that was not measured has an `error`.
constexpr std::string_view kReceived = "bandwidth.received";
// Of whom the run suspects, by all that it measured: how surely, 0 to 1. The subject is peer/<node>,
// nic_port/<node>:<interface>, link/<node>/<interface>|<node>/<interface>, or peer/<what several have in
// common>; with `kind` ("node", "nic" and so on: fleet::SuspectKind), `loss` (a share of what is usual),
// `partners` (how many it was low with that are fine with others), `unreachable` and `sentence`.
constexpr std::string_view kSuspect = "bandwidth.suspect";
// Of a pair whose GPUs summed up wrongly together, by an all-reduce alone: 1, with `source`, `destination`,
// `interface`, `problem` and, where it is known, `wrong_at`, the node whose GPU got the wrong sum. The
// subject is that of the pair, of which nothing else is told.
constexpr std::string_view kWrong = "bandwidth.wrong";
// Without a value, with an `error`: of peer/<node> or nic_port/<node>:<interface>, that should have been
// tested and was not; of a suspect, who of its ends it is; of the host, that there was too little to compare,
// and that the run was ended before it was complete.
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

// Who is named for what is wrong, by the keys of the subjects.
using Blamed = std::set<std::string>;

// How much is too little depends on line, load and path; the run says who is low beside all others.
Blamed judge_suspects(const JudgeInput& input, std::string_view id, Findings& findings) {
  Blamed blamed;
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
    blamed.insert(suspect.subject.key);
  }
  return blamed;
}

// "gpu-5:net0" of "gpu-5/net0".
std::string port_key(std::string_view end) {
  const auto slash = end.find('/');
  if (slash == std::string_view::npos) return std::string(end);
  return port_at(end.substr(0, slash), end.substr(slash + 1)).key;
}

// That the pair is silent is one of the signs of what was told already.
bool is_explained(const Observation& pair, const Blamed& blamed) {
  const auto [source, destination] = ends_of(pair.subject);
  const std::string from(source);
  const std::string to(destination);
  return blamed.contains(from + "|" + to) || blamed.contains(to + "|" + from) ||
         blamed.contains(port_key(from)) || blamed.contains(port_key(to)) ||
         blamed.contains(attribute_text(pair, "source")) ||
         blamed.contains(attribute_text(pair, "destination"));
}

std::string silence(const Observation& pair) {
  const std::string problem = attribute_text(pair, "problem");
  return "nothing of what " + attribute_text(pair, "source") + " sends arrives at " +
         attribute_text(pair, "destination") + " over " + attribute_text(pair, "interface") +
         (problem.empty() ? "" : ": " + problem);
}

std::string wrong_sum_of(const Observation& pair) {
  const std::string at = attribute_text(pair, "wrong_at");
  return "the GPUs of " + attribute_text(pair, "source") + " and " + attribute_text(pair, "destination") +
         " sum up wrongly together" + (at.empty() ? "" : ", on " + at) + ": " +
         attribute_text(pair, "problem");
}

// Who else it is suspect with, or not, makes no wrong sum right.
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
  const Blamed blamed = judge_suspects(input, id, findings);
  for (const Observation& pair : input.history.latest()) {
    if (pair.name != kReceived) continue;
    if (!pair.value || as_number(*pair.value).value_or(1) > 0 || is_explained(pair, blamed)) continue;
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
