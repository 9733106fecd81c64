// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "simulator/jobs/scenario.hpp"

namespace autopilot::simulated_jobs {
namespace {

constexpr double kOnset = 5400;

// Four nodes and a spare, three hours, every source of progress.
Scenario base(std::string_view name, std::string_view title) {
  Scenario scenario;
  scenario.name = name;
  scenario.title = title;
  scenario.hours = 3;
  scenario.nodes_of_leaf = 2;
  for (const char letter : name)  // another seed for each
    scenario.seed = scenario.seed * 131 + static_cast<unsigned char>(letter);
  JobPlan job;
  job.progress = {true, false, true, true, true};
  scenario.jobs.push_back(job);
  return scenario;
}

void serve(Scenario& scenario) {
  JobPlan& job = scenario.jobs.front();
  job.kind = jobs::JobKind::inference;
  job.job = job.name = "serve-a";
}

double usual_magnitude(FaultClass fault_class) {
  switch (type_of(fault_class).target) {
    case Target::nic:
    case Target::leaf:
      return fault_class == FaultClass::link_flap ? 0.1 : 1.0;
    default:
      return fault_class == FaultClass::power_brake ? 0.4 : 0.25;
  }
}

Scenario of_fault(const FaultType& type) {
  Scenario scenario = base(type.name, type.title);
  if (is_of_inference(type.fault_class)) serve(scenario);
  if (type.target == Target::leaf) {
    scenario.jobs.front().nodes = 16;
    scenario.nodes = 17;
    scenario.nodes_of_leaf = 4;
  }
  PlannedFault fault;
  fault.fault_class = type.fault_class;
  fault.at = kOnset;
  fault.lasting = 2400;
  fault.magnitude = type.high > 0 ? usual_magnitude(type.fault_class) : 0;
  fault.node = 2;
  fault.gpu = 3;
  scenario.faults.push_back(fault);
  return scenario;
}

void confound_work(Scenario& scenario, Confounder confounder) {
  JobPlan& job = scenario.jobs.front();
  switch (confounder) {
    case Confounder::stage_imbalance:
      job.stages = {1, 1.3};
      break;
    case Confounder::sequence_skew:
      job.own_noise = 0.1;
      break;
    case Confounder::gc_pauses:
      job.gc_pauses = 0.01;
      break;
    case Confounder::checkpoints:
      job.checkpoint = {1800, 480};
      job.progress.has_phases = false;
      break;
    case Confounder::evaluation:
      job.evaluation = {2400, 240};
      break;
    case Confounder::slow_start:
      job.startup = 1800;
      break;
    case Confounder::compile:
      job.compile = 600;
      break;
    case Confounder::data_stalls:
      job.data_stall = {1200, 30};
      break;
    default:
      break;
  }
}

void share(Scenario& scenario) {
  JobPlan second;
  second.job = "ml/train-b";
  second.name = "neighbour";
  second.first_node = 3;
  second.nodes = 2;
  second.shares_node = second.is_second = true;
  second.step = 2.5;
  second.startup = 1500;
  second.progress.has_steps = true;
  scenario.jobs.front().shares_node = true;
  scenario.jobs.push_back(second);
  scenario.nodes = 6;
}

void confound_surroundings(Scenario& scenario, Confounder confounder) {
  using enum jobs::Metric;
  switch (confounder) {
    case Confounder::diurnal:
      scenario.diurnal = 0.02;
      scenario.hours = 6;
      break;
    case Confounder::rack_offset:
      scenario.rack_offset_c = 5;
      break;
    case Confounder::missing_windows:
      scenario.missing_windows = 0.03;
      break;
    case Confounder::missing_columns:
      scenario.missing_columns = {gpu_tensor, gpu_dram, process_cpu, nic_retransmits};
      break;
    case Confounder::clock_skew:
      scenario.clock_skew = 2;
      break;
    case Confounder::exporter_restarts:
      scenario.exporter_restarts = 48;
      break;
    case Confounder::shared_node:
      share(scenario);
      break;
    case Confounder::congestion:
      scenario.congestions = {{3600, 1200, 0, 0.5}, {7200, 900, 1, 0.8}};
      break;
    default:
      break;
  }
}

Scenario of_confounder(const ConfounderType& type) {
  Scenario scenario = base(type.name, type.title);
  scenario.confounders = {type.confounder};
  confound_work(scenario, type.confounder);
  confound_surroundings(scenario, type.confounder);
  return scenario;
}

// Variants in which the telemetry lacks what the plain scenario has.
void add_variants(std::vector<Scenario>& scenarios) {
  Scenario imbalance = of_confounder(confounder_types()[0]);
  imbalance.name = "stage_imbalance_undeclared";
  imbalance.title = "pipeline stages with unequal work, and ranks without roles";
  imbalance.jobs.front().declares_roles = false;
  scenarios.push_back(std::move(imbalance));

  Scenario quiet = of_fault(type_of(FaultClass::hang_link_equal_counts));
  quiet.name = "hang_link_no_trace";
  quiet.title = "a transfer is stuck, and no counter shows where";
  quiet.faults.front().has_trace = false;
  scenarios.push_back(std::move(quiet));

  Scenario rhythm = of_fault(type_of(FaultClass::hang_lost_rank));
  rhythm.name = "hang_power_rhythm_only";
  rhythm.title = "a hang of a job that reports no progress";
  rhythm.jobs.front().progress = {};
  scenarios.push_back(std::move(rhythm));

  Scenario slow = of_fault(type_of(FaultClass::gpu_clock));
  slow.name = "gpu_clock_16_nodes";
  slow.title = "the SM clock of a GPU is 10 % too low, with steps of ranks";
  slow.jobs.front().nodes = 16;
  slow.nodes = 17;
  slow.nodes_of_leaf = 4;
  slow.jobs.front().progress = {false, true, true, false, false};
  slow.faults.front().magnitude = 0.1;
  scenarios.push_back(std::move(slow));

  Scenario completed = base("job_completed", "a job ends; its nodes are idle afterwards");
  completed.jobs.front().ending = Ending{kOnset, jobs::Outcome::completed};
  scenarios.push_back(std::move(completed));
  Scenario preempted = base("job_preempted", "the scheduler preempts a job");
  preempted.jobs.front().ending = Ending{kOnset, jobs::Outcome::preempted};
  scenarios.push_back(std::move(preempted));
}

}  // namespace

std::vector<Scenario> named_scenarios() {
  std::vector<Scenario> scenarios{base("healthy", "no fault and no confounder")};
  for (const FaultType& type : fault_types())
    scenarios.push_back(of_fault(type));
  for (const ConfounderType& type : confounder_types())
    scenarios.push_back(of_confounder(type));
  Scenario serving = base("healthy_serving", "inference without a fault");
  serve(serving);
  scenarios.push_back(std::move(serving));
  add_variants(scenarios);
  return scenarios;
}

Result<Scenario> named_scenario(std::string_view name) {
  for (Scenario& scenario : named_scenarios())
    if (scenario.name == name) return std::move(scenario);
  return fail(Errc::not_found, "unknown scenario: " + std::string(name.substr(0, 64)) +
                                   ". List them with: autopilot-sim jobs list");
}

}  // namespace autopilot::simulated_jobs
