// SPDX-License-Identifier: Apache-2.0
#include "job_runs.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <malloc.h>
#include <memory>

#include "job_method.hpp"
#include "jobs/engine.hpp"
#include "jobs/scoring/score.hpp"
#include "simulator/jobs/generator.hpp"

namespace autopilot::jobs::bench {
namespace {

using simulated_jobs::Confounder;
using simulated_jobs::Generator;
using simulated_jobs::JobPlan;
using simulated_jobs::Scenario;

constexpr Duration kWindow = std::chrono::seconds(10);

double cpu_now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool has(const Scenario& scenario, Confounder confounder) {
  return std::ranges::count(scenario.confounders, confounder) > 0;
}

// With values from the middle of what make_scenario() draws.
void add_confounders(Scenario& scenario) {
  JobPlan& job = scenario.jobs.front();
  if (job.nodes % 2 == 0) {
    job.stages = {1, 1.1 + 0.03 * static_cast<double>(scenario.seed % 11)};
    if (!has(scenario, Confounder::stage_imbalance))
      scenario.confounders.push_back(Confounder::stage_imbalance);
  }
  job.own_noise = 0.09;
  job.gc_pauses = 0.005;
  job.checkpoint = {2700, 420};
  job.evaluation = {4800, 240};
  job.data_stall = {3000, 20};
  job.startup = 1500;
  job.compile = 300;
  scenario.diurnal = 0.015;
  scenario.rack_offset_c = 4;
  scenario.missing_windows = 0.03;
  scenario.clock_skew = 2;
  scenario.exporter_restarts = 4;
  if (scenario.congestions.empty())
    for (double at = 7200; at < scenario.seconds(); at += 21'600)
      scenario.congestions.push_back({at, 1500, 0, 0.5});
  for (const Confounder added :
       {Confounder::sequence_skew, Confounder::gc_pauses, Confounder::checkpoints, Confounder::evaluation,
        Confounder::data_stalls, Confounder::slow_start, Confounder::compile, Confounder::diurnal,
        Confounder::rack_offset, Confounder::missing_windows, Confounder::clock_skew,
        Confounder::exporter_restarts, Confounder::congestion})
    if (!has(scenario, added)) scenario.confounders.push_back(added);
}

Sources sources_of(const Scenario& scenario) {
  Sources sources;
  for (const JobPlan& job : scenario.jobs) {
    if (job.kind == JobKind::inference) sources.serves.push_back(job.job);
    if (job.progress.has_collectives) sources.has_ras.push_back(job.job);
  }
  return sources;
}

// One method in one run.
struct Entrant {
  std::unique_ptr<Method> method;
  RunLog log;
  double cpu_s = 0;

  void take(const std::vector<Record>& records, WallTime now) {
    const double begin = cpu_now();
    for (const Record& record : records)
      method->add(record);
    method->advance(now);
    const std::vector<JobFinding> findings = method->take();
    cpu_s += cpu_now() - begin;
    for (const Record& record : records)
      log.add(record);
    for (const JobFinding& finding : findings)
      log.add(finding, now);
  }
};

void run_one(const Scenario& scenario, Measured& measured) {
  Generator generator(scenario);
  std::vector<Entrant> entrants;
  for (const auto& [name, tally] : measured.methods)
    entrants.push_back({make_method(name), {}, 0});
  std::vector<Record> records;
  WallTime now = scenario.start;
  while (generator.next(records)) {
    now += kWindow;
    for (Entrant& entrant : entrants)
      entrant.take(records, now);
  }
  const bool is_unequal =
      has(scenario, Confounder::stage_imbalance) || has(scenario, Confounder::sequence_skew);
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    Tally& tally = measured.methods[i].second;
    const Score result = score(generator.labels(), entrants[i].log);
    tally.add(result);
    tally.cpu_s += entrants[i].cpu_s;
    for (FaultRow& row : rows_of(generator.labels(), entrants[i].log, sources_of(scenario)))
      tally.rows.push_back(std::move(row));
    if (i > 0 || !is_unequal) continue;
    measured.unequal_accusations += result.false_accusations.events;
    measured.unequal_node_days += result.exposure.node_days;
  }
}

}  // namespace

Scenario make_large(const ScalePlan& plan) {
  Scenario scenario;
  scenario.name = "scale";
  scenario.hours = plan.minutes / 60.0;
  scenario.nodes = plan.nodes;
  scenario.spares = 0;
  scenario.nodes_of_leaf = 32;
  scenario.missing_windows = 0.02;
  scenario.clock_skew = 2;
  const int each = plan.nodes / plan.jobs;
  for (int i = 0; i < plan.jobs; ++i) {
    JobPlan job;
    job.job = "ml/train-" + std::to_string(i + 1);
    job.name = "train";
    job.first_node = i * each;
    job.nodes = each;
    job.step = 2 + i % 9;
    job.progress = {i % 4 == 0, i % 4 == 1, i % 2 == 0, i % 3 == 0, i % 4 == 1};
    scenario.jobs.push_back(std::move(job));
  }
  return scenario;
}

double heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

Result<Measured> run_all(const RunPlan& plan) {
  const auto begin = std::chrono::steady_clock::now();
  Measured measured;
  for (const std::string& name : plan.methods)
    measured.methods.emplace_back(name, Tally{});
  for (std::uint64_t seed = plan.first_seed; seed <= plan.last_seed; ++seed) {
    Scenario scenario = TRY(simulated_jobs::make_scenario(seed, plan.options));
    const bool is_training = scenario.jobs.front().kind == JobKind::training;
    const bool has_all = plan.has_all_confounders || (plan.is_mixed && seed % 2 == 1);
    if (has_all && is_training) add_confounders(scenario);
    run_one(scenario, measured);
  }
  measured.cpu_s = cpu_now();
  measured.wall_s = to_seconds(std::chrono::steady_clock::now() - begin);
  return measured;
}

ScaleCost run_scale(const ScalePlan& plan) {
  ScaleCost cost;
  Generator generator(make_large(plan));
  std::vector<Record> records;
  const double before = heap_bytes();
  double of_minute = 0;
  {
    Engine engine;
    WallTime now = generator.scenario().start;
    for (std::uint64_t window = 1; generator.next(records); ++window) {
      now += kWindow;
      const double begin = cpu_now();
      for (const Record& record : records)
        engine.add(record);
      engine.advance(now);
      cost.findings += engine.take().size();
      of_minute += cpu_now() - begin;
      cost.records += records.size();
      if (window % 6 != 0) continue;
      cost.cpu_s += of_minute;
      cost.most_cpu_s = std::max(cost.most_cpu_s, of_minute);
      of_minute = 0;
    }
    records.clear();
    records.shrink_to_fit();
    cost.heap_bytes = heap_bytes() - before;
  }
  return cost;
}

}  // namespace autopilot::jobs::bench
