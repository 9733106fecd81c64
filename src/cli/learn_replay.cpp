// SPDX-License-Identifier: Apache-2.0
#include "cli/learn_replay.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "checks/measured_limits.hpp"
#include "core/expectation.hpp"
#include "core/history.hpp"
#include "learning/baseline/kind.hpp"

namespace autopilot::cli {
namespace {

using learning::Measurement;

// One diagnostic of a node: cluster, node, check and time.
using RunKey = std::tuple<std::string, std::string, std::string, WallTime>;
using Runs = std::map<RunKey, std::vector<const Measurement*>>;

bool is_judged_by(std::string_view check, std::string_view threshold) {
  return std::ranges::any_of(checks::measured_limits(), [&](const checks::MeasuredLimit& one) {
    return one.check == check && one.threshold == threshold;
  });
}

bool is_of(const learning::MachineKind& kind, const std::string& text) {
  return std::ranges::any_of(learning::kKindLevels, [&](learning::KindLevel level) {
    return learning::kind_text(kind, level) == text;
  });
}

bool is_replayed(const Measurement& one, const ReplayedRecords& records, const std::string& kind) {
  if (one.time <= records.since || one.time > records.until) return false;
  const auto parsed = learning::parse_kind(one.kind);
  return parsed && is_of(*parsed, kind);
}

Runs runs_of(const learning::LearnedThreshold& threshold, const ReplayedRecords& records) {
  Runs runs;
  for (const Measurement& one : records.measurements)
    if (is_judged_by(one.check, threshold.id) && is_replayed(one, records, threshold.kind))
      runs[{one.place.cluster, one.place.node, one.check, one.time}].push_back(&one);
  return runs;
}

std::size_t cards_of(const std::vector<const Measurement*>& run) {
  std::set<std::string_view> cards;
  for (const Measurement* one : run)
    cards.insert(one->place.gpu);
  return cards.size();
}

std::string_view unit_of(std::string_view metric) {
  return metric.ends_with("dgemm") || metric.ends_with("bf16") ? "teraflops" : "gigabytes_per_second";
}

// The observations that the check would have read.
History history_of(const std::vector<const Measurement*>& run) {
  checks::ObservationBuilder builder({run.front()->time, {}});
  for (const Measurement* one : run) {
    if (one->values.empty()) continue;
    const Subject gpu = checks::make_subject(SubjectKind::gpu, one->place.gpu);
    const auto kind = learning::parse_kind(one->kind);
    builder.add(gpu, one->metric, checks::kProbe, one->values.back(), unit_of(one->metric));
    if (kind) builder.add(gpu, checks::kGpuModel, checks::kProbe, kind->gpu);
  }
  Observations observations = builder.take();
  checks::note_tested(observations);
  History history;
  history.add(std::move(observations), std::chrono::minutes{10});
  return history;
}

std::size_t findings_of(const checks::Check& check, const History& history, WallTime time,
                        const catalog::Catalog& facts, const std::string& threshold, double value) {
  Expectation expectation;
  expectation.thresholds[threshold] = value;
  const Findings findings = check.judge({{time, {}}, history, facts, expectation});
  return static_cast<std::size_t>(std::ranges::count_if(findings, [&](const Finding& finding) {
    const Value* id = find_attribute(finding.evidence, "thresholdId");
    return id != nullptr && to_string(*id) == threshold;
  }));
}

}  // namespace

learning::ProposalReplay replay_threshold(const learning::LearnedThreshold& threshold, double before,
                                          const ReplayedRecords& records, const catalog::Catalog& facts) {
  learning::ProposalReplay replay;
  for (const auto& [key, run] : runs_of(threshold, records)) {
    const checks::Check* check = checks::find_check(std::get<2>(key));
    if (check == nullptr || check->judge == nullptr) continue;
    const WallTime time = std::get<3>(key);
    const History history = history_of(run);
    replay.evaluations += cards_of(run);
    replay.before += findings_of(*check, history, time, facts, threshold.id, before);
    replay.after += findings_of(*check, history, time, facts, threshold.id, threshold.value);
  }
  return replay;
}

learning::ProposalReplay replay_baseline(const learning::Baseline* before, const learning::Baseline& after,
                                         const ReplayedRecords& records) {
  learning::ProposalReplay replay;
  const auto is_failed = [](const learning::Baseline& baseline, const Measurement& one) {
    return learning::judge_node(baseline, one.values, learning::kMostRepeats).verdict ==
           learning::BaselineVerdict::fail;
  };
  for (const Measurement& one : records.measurements) {
    if (one.check != after.key.check || one.metric != after.key.metric) continue;
    if (!is_replayed(one, records, after.key.kind)) continue;
    ++replay.evaluations;
    if (before != nullptr && is_failed(*before, one)) ++replay.before;
    if (is_failed(after, one)) ++replay.after;
  }
  return replay;
}

}  // namespace autopilot::cli
