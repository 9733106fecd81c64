// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/judgement.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {
namespace network_nccl_group {
namespace {

constexpr std::string_view kId = "network.nccl_group";

// About the host: "measured", or "no_targets".
constexpr std::string_view kOutcome = "group.outcome";
// About each group, peer/<its name>, in bits per second: the bus bandwidth of one all-reduce of all its GPUs.
// `kind` is "leaf", the nodes below one switch, or "all"; `nodes` and `ranks` are the numbers of nodes and
// GPUs, `members` the names. For a node that took no part the value is missing and `kind` is "node". `error`
// is the cause of a missing value.
constexpr std::string_view kBus = "group.bus";
// About the node whose GPU got a wrong sum, or about the group if the node is unknown: 1, with `group`,
// `members` and `problem`.
constexpr std::string_view kWrong = "group.wrong";
constexpr std::array kFound{kBus, kWrong};

constexpr std::string_view kNoTargets = "no_targets";
constexpr std::array<std::string_view, 2> kOutcomes{"measured", kNoTargets};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

// The bandwidth of an all-reduce depends on the number of its members.
bool are_alike(const Measured& one, const Measured& other) {
  const auto has_same = [&](std::string_view name) {
    return attribute_text(*one.result, name) == attribute_text(*other.result, name);
  };
  return has_same("kind") && has_same("nodes") && has_same("ranks");
}

// Only leaves are compared: the bandwidth of all nodes depends on the fabric above the leaves, which may be
// oversubscribed by design.
void judge_leaves(const JudgeInput& input, Findings& findings) {
  constexpr double kGiga = 1e9;
  const std::vector<Measured> groups = measured(input, kBus);
  for (const Measured& group : groups) {
    const auto usual =
        median_of_others(group, groups, [&group](const Measured& other) { return are_alike(group, other); });
    if (!usual) continue;
    const Limit least = share_of(limit(input, "network.nccl_group.sibling_share"), *usual, "bits_per_second");
    if (group.value >= least.value) continue;
    findings.push_back(
        make_finding(input, group.result->subject, "group_slower_than_others", Health::degraded,
                     "the all-reduce of the GPUs below " + group.result->subject.key + " has " +
                         rounded(group.value / kGiga) + " Gbit/s, the median of groups of the same size is " +
                         rounded(*usual / kGiga) + " Gbit/s: " + attribute_text(*group.result, "members"),
                     group.value, least));
    add_source(findings.back(), *group.result);
  }
}

void judge_wrong(const JudgeInput& input, Findings& findings) {
  for (const Measured& wrong : measured(input, kWrong)) {
    if (wrong.value <= 0) continue;
    const Observation& result = *wrong.result;
    findings.push_back(make_finding(input, result.subject, "allreduce_wrong_in_group", Health::degraded,
                                    "the all-reduce of the GPUs of " + attribute_text(result, "group") +
                                        " returned wrong sums (" + attribute_text(result, "members") +
                                        "): " + attribute_text(result, "problem")));
    add_source(findings.back(), result);
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoTargets, kFound, {}}, findings);
  judge_leaves(input, findings);
  judge_wrong(input, findings);
  return findings;
}

}  // namespace
}  // namespace network_nccl_group

const Check kNetworkNcclGroup = {
    .info = active_check_info(network_nccl_group::kId, "All-reduce of many nodes", "network", kProbe),
    .observe = network_nccl_group::observe,
    .judge = network_nccl_group::judge,
};

}  // namespace autopilot::checks
