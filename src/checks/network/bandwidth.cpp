// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/last_results.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kId = "network.bandwidth";
constexpr std::string_view kWitness = "probe";

// Of the host: "measured", or "no_targets".
constexpr std::string_view kOutcome = "bandwidth.outcome";
// Of each pair of nodes in one network, in bits per second: what arrived there of what the other end sent.
// The subject is link/<source>/<interface>|<destination>/<interface>; `source`, `source_pod`, `destination`,
// `destination_pod` and `interface` name its parts. 0: nothing arrived.
constexpr std::string_view kReceived = "bandwidth.received";
constexpr std::array kFound{kReceived};

constexpr std::string_view kNoTargets = "no_targets";
constexpr std::array<std::string_view, 2> kOutcomes{"measured", kNoTargets};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kWitness);
}

// How much is too little depends on line, load and path: only nothing at all is judged.
Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  for (const Observation& pair : input.history.latest()) {
    if (pair.name != kReceived) continue;
    if (!pair.value || as_number(*pair.value).value_or(1) > 0) continue;
    findings.push_back(make_finding(input, pair.subject, "nothing_arrives", Health::degraded,
                                    "nothing of what " + attribute_text(pair, "source") +
                                        " sends arrives at " + attribute_text(pair, "destination") +
                                        " over " + attribute_text(pair, "interface")));
    findings.back().evidence = pair.attributes;
    findings.back().evidence.emplace_back("witness", pair.source);
  }
  return findings;
}

}  // namespace

const Check kNetworkBandwidth = {
    .info = active_check_info(kId, "Bandwidth between nodes", "network", kWitness),
    .observe = observe,
    .judge = judge,
};

}  // namespace autopilot::checks
