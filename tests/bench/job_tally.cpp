// SPDX-License-Identifier: Apache-2.0
#include "job_tally.hpp"

#include <algorithm>
#include <chrono>

namespace autopilot::jobs::bench {
namespace {

// As score() has it.
constexpr Duration kGrace = std::chrono::minutes(5);

std::optional<double> confirmed(const FaultLabel& fault, const RunLog& run) {
  std::optional<WallTime> first;
  std::optional<WallTime> last_step;
  for (const LoggedFinding& logged : run.findings()) {
    if (!logged.raised || logged.finding.effect != Effect::hang || logged.finding.job != fault.job) continue;
    if (*logged.raised < fault.onset || *logged.raised > fault.end + kGrace) continue;
    if (first && *first <= *logged.raised) continue;
    first = logged.raised;
    last_step = logged.last_step;
  }
  if (!first) return std::nullopt;
  return to_seconds(*first - last_step.value_or(fault.onset));
}

bool is_noticed(const FaultLabel& fault, const RunLog& run) {
  return std::ranges::any_of(run.findings(), [&](const LoggedFinding& logged) {
    return logged.raised && logged.finding.job == fault.job && *logged.raised >= fault.onset &&
           *logged.raised <= fault.end + kGrace;
  });
}

std::string source_of(const FaultLabel& fault, const Sources& sources) {
  if (std::ranges::count(sources.serves, fault.job) > 0) return "serving";
  return std::ranges::count(sources.has_ras, fault.job) > 0 ? "ras" : "other";
}

}  // namespace

void Tally::add(const Score& score) {
  each_run.push_back({score.faults, score.detected, score.false_findings});
  faults += score.faults;
  detected += score.detected;
  false_findings += score.false_findings;
  wrong_culprits += score.wrong_culprits;
  blamed_confounders += score.blamed_confounders;
  unlocalised += score.unlocalised;
  false_accusations += score.false_accusations.events;
  false_hangs += score.false_hangs.events;
  node_days += score.exposure.node_days;
  job_days += score.exposure.job_days;
}

std::vector<FaultRow> rows_of(const Labels& labels, const RunLog& run, const Sources& sources) {
  std::vector<FaultRow> rows;
  for (const FaultLabel& fault : labels.faults) {
    Labels one{{fault}, {}, labels.begin, labels.end};
    const Score alone = score(one, run);
    FaultRow row;
    row.fault_class = fault.fault_class;
    row.magnitude = alone.classes.empty() ? std::string() : alone.classes.front().magnitude;
    row.effect = fault.effect;
    row.source = source_of(fault, sources);
    row.is_detected = alone.detected > 0;
    row.is_noticed = is_noticed(fault, run);
    row.delay_s = fault.effect == Effect::hang ? alone.hang_delays.median_s : alone.delays.median_s;
    if (alone.first_is_right) row.first_is_right = alone.first_is_right->value > 0.5;
    if (fault.effect == Effect::hang) row.confirmed_s = confirmed(fault, run);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace autopilot::jobs::bench
