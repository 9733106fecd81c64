// SPDX-License-Identifier: Apache-2.0
#include "learning/report/job_figures.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace autopilot::learning {
namespace {

// One job on all nodes with a record of it.
struct WholeJob {
  WallTime start = WallTime::max();
  WallTime end{};
  bool is_over = true;
  JobOutcome outcome = JobOutcome::unknown;
  bool is_hardware = false;
  bool has_failure = false;
  int job_gpus = 0;           // 0: unknown
  std::size_t seen_gpus = 0;  // on the nodes with a record
};

int rank_of_outcome(JobOutcome outcome) {
  switch (outcome) {
    case JobOutcome::failed:
      return 4;
    case JobOutcome::stopped:
      return 3;
    case JobOutcome::preempted:
      return 2;
    case JobOutcome::completed:
      return 1;
    case JobOutcome::unknown:
      break;
  }
  return 0;
}

void add_part(WholeJob& whole, const NodeJob& part, const ReportInterval& interval) {
  whole.start = std::min(whole.start, part.start);
  if (part.end && *part.end < interval.until)
    whole.end = std::max(whole.end, *part.end);
  else
    whole.is_over = false;
  if (rank_of_outcome(part.outcome) > rank_of_outcome(whole.outcome)) whole.outcome = part.outcome;
  whole.is_hardware = whole.is_hardware || part.failure == "hardware";
  whole.has_failure = whole.has_failure || (!part.failure.empty() && part.failure != "unclear");
  whole.job_gpus = std::max(whole.job_gpus, part.job_gpus);
  whole.seen_gpus += part.gpus.size();
}

void add_lost(LostGpuHours& lost, const WholeJob& job) {
  if (job.outcome != JobOutcome::failed) return;
  if (!job.has_failure) ++lost.failed_of_unknown;
  if (!job.is_hardware) return;
  ++lost.jobs;
  const auto gpus = job.job_gpus > 0 ? static_cast<double>(job.job_gpus) : static_cast<double>(job.seen_gpus);
  if (gpus == 0) {
    ++lost.of_unknown;
    return;
  }
  lost.most_hours = lost.most_hours.value_or(0) + gpus * hours_between(job.start, job.end);
}

// The worst answer of each check and card; without answers that are unknown.
using Answers = std::map<std::pair<std::string, std::string>, Health>;

int badness_of(Health health) {
  if (health == Health::failed) return 2;
  return health == Health::degraded ? 1 : 0;
}

Answers answers_of(const Validation& validation) {
  Answers answers;
  for (const CheckOutcome& outcome : validation.checks) {
    const bool has_answer = outcome.health == Health::healthy || badness_of(outcome.health) > 0;
    if (!has_answer) continue;
    const auto [held, is_new] = answers.emplace(std::pair(outcome.check, outcome.gpu), outcome.health);
    if (!is_new && badness_of(outcome.health) > badness_of(held->second)) held->second = outcome.health;
  }
  return answers;
}

void compare(ValidationFigures& figures, const Answers& before, const Answers& after) {
  bool is_compared = false;
  bool is_worse = false;
  for (const auto& [key, health] : after) {
    const auto found = before.find(key);
    if (found == before.end()) continue;
    is_compared = true;
    is_worse = is_worse || badness_of(health) > badness_of(found->second);
  }
  if (is_compared) ++figures.compared;
  if (is_worse) ++figures.worse;
}

}  // namespace

JobFigures job_figures(const ReportRecords& records, const ReportInterval& interval,
                       std::optional<double> gpu_hour_price) {
  JobFigures figures;
  std::map<std::pair<std::string_view, std::string_view>, WholeJob> jobs;
  for (const NodeJob& part : records.jobs) {
    if (!overlaps(interval, part.start, part.end)) continue;
    ++figures.records;
    add_part(jobs[{part.place.cluster, part.job}], part, interval);
  }
  for (const auto& [key, job] : jobs) {
    if (!job.is_over) {
      ++figures.running;
      continue;
    }
    ++figures.ended;
    ++figures.outcomes[static_cast<std::size_t>(job.outcome)];
    add_lost(figures.lost, job);
  }
  if (gpu_hour_price && figures.lost.most_hours)
    figures.lost.most_cost = *figures.lost.most_hours * *gpu_hour_price;
  return figures;
}

ValidationFigures validation_figures(const ReportRecords& records, const ReportInterval& interval) {
  std::vector<std::pair<std::string, const Validation*>> ordered;
  for (const Validation& validation : records.validations)
    if (validation.end < interval.until) ordered.emplace_back(node_key(validation.place), &validation);
  std::ranges::sort(ordered, [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->end, a.second->id) < std::tie(b.first, b.second->end, b.second->id);
  });
  ValidationFigures figures;
  std::string_view node;
  Answers before;  // the last answer of each check of the node
  for (const auto& [key, validation] : ordered) {
    if (key != node) before.clear();
    node = key;
    const Answers after = answers_of(*validation);
    if (is_inside(interval, validation->end)) {
      ++figures.verdicts[static_cast<std::size_t>(validation->verdict)];
      compare(figures, before, after);
    }
    for (const auto& [check, health] : after)
      before[check] = health;
  }
  return figures;
}

}  // namespace autopilot::learning
