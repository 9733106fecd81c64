// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kId = "network.ping";
constexpr std::string_view kWitness = "probe";

// Of the host: "ended", or "no_targets"; `pod` is the one that asked.
constexpr std::string_view kOutcome = "ping.outcome";
// Of each node that was asked (peer/<node>): how many of its addresses did not answer. `addresses` names all
// of them, "eth0=10.1.0.7 net1-0=10.2.0.7"; `silent` those without an answer, "net1-0".
constexpr std::string_view kSilent = "ping.silent";
constexpr std::array kFound{kSilent};

constexpr std::string_view kNoTargets = "no_targets";
constexpr std::array<std::string_view, 2> kOutcomes{"ended", kNoTargets};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  for (const Observation& asked : input.history.latest()) {
    if (asked.name != kSilent) continue;
    if (!asked.value || as_number(*asked.value).value_or(0) == 0) continue;
    findings.push_back(
        make_finding(input, asked.subject, "node_does_not_answer", Health::degraded,
                     asked.subject.key + " does not answer at " + attribute_text(asked, "silent")));
    findings.back().evidence = asked.attributes;
    findings.back().evidence.emplace_back("witness", asked.source);
  }
  return findings;
}

}  // namespace

const Check kNetworkPing = {
    .info = active_check_info(kId, "Answers of other nodes", "network", kWitness),
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
