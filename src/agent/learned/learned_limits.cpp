// SPDX-License-Identifier: Apache-2.0
#include "agent/learned/learned_limits.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include "learning/baseline/kind.hpp"
#include "postflight/snapshot_facts.hpp"

namespace autopilot::agent {
namespace {

using learning::ProposalKind;
using learning::ProposalState;
using learning::Version;

bool is_of_kind(const std::string& machine, const std::string& kind) {
  const auto parsed = learning::parse_kind(machine);
  return parsed && std::ranges::any_of(learning::kKindLevels, [&](learning::KindLevel level) {
           return learning::kind_text(*parsed, level) == kind;
         });
}

bool concerns_all(const std::string& kind, const std::set<std::string>& machines) {
  return !machines.empty() && std::ranges::all_of(machines, [&kind](const std::string& machine) {
    return is_of_kind(machine, kind);
  });
}

bool is_tried_elsewhere(const Version& version, std::string_view node) {
  const auto state = version.state();
  return state == ProposalState::shadow ||
         (state == ProposalState::canary && !learning::is_canary_node(version, node));
}

// Of versions for one threshold, the one for the most specific kind.
class MostSpecific {
 public:
  void offer(const Version& version) {
    const auto& threshold = std::get<learning::LearnedThreshold>(version.learned);
    const learning::LearnedThreshold*& held = thresholds_[threshold.id];
    if (held != nullptr && held->kind.size() > threshold.kind.size()) return;
    held = &threshold;
    limits_[threshold.id] = {threshold.value, version.proposal.id};
  }
  [[nodiscard]] const LearnedLimits& limits() const { return limits_; }

 private:
  std::map<std::string, const learning::LearnedThreshold*> thresholds_;
  LearnedLimits limits_;
};

std::set<Subject> learned_gpus_in(const NodeSnapshot& snapshot) {
  std::set<Subject> gpus;
  for (const CheckResult& result : snapshot.results)
    for (const Observation& one : result.observations)
      if (one.subject.kind == SubjectKind::gpu) gpus.insert(one.subject);
  return gpus;
}

// The kind, with what only the known one states.
std::string completed(const std::string& kind, const std::string& known) {
  const auto last = learning::parse_kind(known);
  auto now = learning::parse_kind(kind);
  if (!now || now->gpu.empty() || !last) return kind.empty() ? known : kind;
  if (now->driver.empty() && now->gpu == last->gpu) now->driver = last->driver;
  return learning::kind_text(*now);
}

}  // namespace

std::set<std::string> KnownKinds::learn(const NodeSnapshot& snapshot) {
  const std::set<Subject> gpus = learned_gpus_in(snapshot);
  if (!gpus.empty())
    std::erase_if(kinds_, [&gpus](const auto& known) { return !gpus.contains(known.first); });
  for (const Subject& gpu : gpus)
    kinds_[gpu] = completed(postflight::kind_of(snapshot, gpu), kinds_[gpu]);
  std::set<std::string> kinds;
  for (const auto& [gpu, kind] : kinds_)
    if (!kind.empty()) kinds.insert(kind);
  return kinds;
}

runtime::LearnedThresholds learned_thresholds(std::span<const Version> versions,
                                              const std::set<std::string>& kinds, std::string_view node) {
  MostSpecific used, shadowed;
  for (const Version& version : versions) {
    const auto* threshold = std::get_if<learning::LearnedThreshold>(&version.learned);
    if (threshold == nullptr || !concerns_all(threshold->kind, kinds)) continue;
    const Version* best = learning::in_use(versions, ProposalKind::threshold, version.proposal.subject, node);
    if (best == &version) used.offer(version);
    if (is_tried_elsewhere(version, node)) shadowed.offer(version);
  }
  return {used.limits(), shadowed.limits()};
}

}  // namespace autopilot::agent
