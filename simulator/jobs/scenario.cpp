// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "simulator/jobs/pcg.hpp"

namespace autopilot::simulated_jobs {
namespace {

constexpr std::array kSizes{4, 4, 4, 16, 16, 16, 64, 64, 512};
constexpr double kLongestFault = 2400;
constexpr double kSlot = 3000;  // of one fault, with the restart after it
constexpr std::size_t kMostFaults = 500;

int leaf_size(int nodes) {
  if (nodes <= 4) return 2;
  if (nodes <= 16) return 4;
  return nodes <= 64 ? 8 : 32;
}

Progress draw_progress(Pcg& random) {
  constexpr std::array<Progress, 6> kKinds{{{true, false, true, true, false},
                                            {true, false, false, false, true},
                                            {false, true, true, false, true},
                                            {false, false, false, true, false},
                                            {true, false, true, false, false},
                                            {false, false, false, false, false}}};
  return kKinds[random.below(kKinds.size())];
}

// 39 % of straggling jobs have unequal stages, 21 % unequal sequences (arXiv 2505.05713); pauses for garbage
// collection come every 100 to 1,000 steps.
void draw_workload(JobPlan& job, Scenario& scenario, Pcg& random) {
  const double square = random.uniform() * random.uniform();
  job.step = 1 + 25 * square;
  job.communication = random.uniform(0.08, 0.25);
  job.own_noise = random.uniform(0.003, 0.012);
  if (job.nodes % 4 == 0 && random.chance(0.5)) {
    job.stages.assign(random.chance(0.5) ? 2 : 4, 1.0);
    job.declares_roles = random.chance(0.5);
    if (random.chance(0.78)) {
      job.stages[random.below(static_cast<std::uint32_t>(job.stages.size()))] = random.uniform(1.1, 1.4);
      scenario.confounders.push_back(Confounder::stage_imbalance);
    }
  }
  if (random.chance(0.21)) {
    job.own_noise = random.uniform(0.06, 0.12);
    scenario.confounders.push_back(Confounder::sequence_skew);
  }
  if (random.chance(0.3)) {
    job.gc_pauses = random.uniform(0.001, 0.01);
    scenario.confounders.push_back(Confounder::gc_pauses);
  }
}

void draw_interruptions(JobPlan& job, Scenario& scenario, Pcg& random) {
  job.checkpoint = {random.uniform(600, 3600), random.uniform(30, 120)};
  if (random.chance(0.2)) {
    job.checkpoint = {random.uniform(1800, 3600), random.uniform(240, 600)};
    scenario.confounders.push_back(Confounder::checkpoints);
  }
  if (random.chance(0.3)) {
    job.evaluation = {random.uniform(2400, 7200), random.uniform(60, 400)};
    scenario.confounders.push_back(Confounder::evaluation);
  }
  if (random.chance(0.3)) {
    job.data_stall = {random.uniform(900, 5400), random.uniform(5, 40)};
    scenario.confounders.push_back(Confounder::data_stalls);
  }
  job.startup = random.uniform(300, 900);
  if (random.chance(0.25)) {
    job.startup = random.uniform(900, 1800);
    scenario.confounders.push_back(Confounder::slow_start);
  }
  if (random.chance(0.3)) {
    job.compile = random.uniform(120, 600);
    scenario.confounders.push_back(Confounder::compile);
  }
  job.restart = random.uniform(300, 900);
  if (random.chance(0.2)) job.watchdog = random.chance(0.5) ? std::optional(1800.0) : std::nullopt;
}

void draw_columns(Scenario& scenario, Pcg& random) {
  using enum jobs::Metric;
  if (!random.chance(0.3)) return;
  scenario.confounders.push_back(Confounder::missing_columns);
  switch (random.below(4)) {
    case 0:  // no profiling
      scenario.missing_columns = {gpu_tensor, gpu_dram, gpu_pcie_bytes_s, gpu_nvlink_bytes_s};
      break;
    case 1:
      scenario.missing_columns = {process_cpu, process_disk_sleep, process_stopped, process_io_bytes_s};
      break;
    case 2:
      scenario.missing_columns = {nic_retransmits, nic_cnp,     nic_pause,
                                  host_psi_cpu,    host_psi_io, host_psi_memory};
      break;
    default:
      scenario.missing_columns = {gpu_mem_temp_c, gpu_pcie_replays, host_inlet_c, gpu_throttle_power_cap};
  }
}

void draw_surroundings(Scenario& scenario, const ScenarioOptions& options, Pcg& random) {
  scenario.silicon = random.uniform(0.007, 0.015);
  if (random.chance(0.5)) {
    scenario.diurnal = random.uniform(0.01, 0.02);
    scenario.confounders.push_back(Confounder::diurnal);
  }
  if (random.chance(0.4)) {
    scenario.rack_offset_c = random.uniform(2, 5);
    scenario.confounders.push_back(Confounder::rack_offset);
  }
  scenario.missing_windows =
      options.missing_windows >= 0 ? options.missing_windows : random.uniform(0.01, 0.03);
  if (scenario.missing_windows > 0) scenario.confounders.push_back(Confounder::missing_windows);
  if (random.chance(0.6)) {
    scenario.clock_skew = 2;
    scenario.confounders.push_back(Confounder::clock_skew);
  }
  if (random.chance(0.5)) {
    scenario.exporter_restarts = random.uniform(1, 6);
    scenario.confounders.push_back(Confounder::exporter_restarts);
  }
  scenario.has_fast_power = random.chance(0.8);
  draw_columns(scenario, random);
}

// A second job on half of the last node of the first and on one node of its own.
void share_last_node(Scenario& scenario, Pcg& random) {
  JobPlan& first = scenario.jobs.front();
  first.shares_node = true;
  JobPlan second;
  second.job = "ml/train-b";
  second.name = "neighbour";
  second.first_node = first.nodes - 1;
  second.nodes = 2;
  second.shares_node = true;
  second.is_second = true;
  second.step = random.uniform(1, 6);
  second.progress = {true, false, true, false, false};
  second.startup = random.uniform(300, 1200);
  scenario.jobs.push_back(std::move(second));
  scenario.nodes += 1;
  scenario.confounders.push_back(Confounder::shared_node);
}

bool fits(const FaultType& type, const Scenario& scenario, const ScenarioOptions& options) {
  const JobPlan& job = scenario.jobs.front();
  if (!options.classes.empty() && std::ranges::count(options.classes, type.fault_class) == 0) return false;
  if (type.target == Target::leaf && job.nodes <= scenario.nodes_of_leaf) return false;
  if (job.kind != jobs::JobKind::inference) return !is_of_inference(type.fault_class);
  return is_of_inference(type.fault_class) ||
         (type.target == Target::gpu && type.effect == jobs::Effect::slow &&
          type.fault_class != FaultClass::nvlink_errors);
}

std::optional<FaultClass> draw_class(const Scenario& scenario, const ScenarioOptions& options, Pcg& random) {
  const auto weight = [&](const FaultType& type) {
    if (!fits(type, scenario, options)) return 0.0;
    return options.classes.empty() ? type.weight : 1.0;
  };
  double total = 0;
  for (const FaultType& type : fault_types())
    total += weight(type);
  double draw = random.uniform() * total;
  std::optional<FaultClass> chosen;
  for (const FaultType& type : fault_types()) {
    if (weight(type) <= 0) continue;
    chosen = type.fault_class;
    draw -= weight(type);
    if (draw < 0) break;
  }
  return chosen;
}

// A node of the stage with the most work: elsewhere a slow part would slow nothing.
int draw_node(const JobPlan& job, Pcg& random) {
  const auto most = std::ranges::max_element(job.stages) - job.stages.begin();
  const int each = std::max(1, job.nodes / static_cast<int>(job.stages.size()));
  return job.first_node + static_cast<int>(most) * each +
         static_cast<int>(random.below(static_cast<std::uint32_t>(each)));
}

// Each fault has its own part of the time, so that faults do not overlap.
void draw_faults(Scenario& scenario, const ScenarioOptions& options, Pcg& random) {
  const JobPlan& job = scenario.jobs.front();
  const double begin = job.startup + job.compile + 1800;
  const double end = scenario.seconds() - 900;
  if (end - begin < kSlot) return;
  const double days = job.nodes * scenario.hours / 24;
  const auto most = std::min<std::size_t>(kMostFaults, static_cast<std::size_t>((end - begin) / kSlot));
  const std::size_t count = std::min(
      most, static_cast<std::size_t>(random.poisson(options.faults_per_1000_node_days * days / 1000)));
  const double slot = (end - begin) / static_cast<double>(std::max<std::size_t>(count, 1));
  for (std::size_t i = 0; i < count; ++i) {
    const auto fault_class = draw_class(scenario, options, random);
    if (!fault_class) return;
    PlannedFault fault;
    fault.fault_class = *fault_class;
    const FaultType& type = type_of(fault.fault_class);
    fault.at = std::floor(begin + slot * static_cast<double>(i) + random.uniform(0, slot - 2700));
    fault.lasting = random.uniform(1200, kLongestFault);
    fault.magnitude = type.low + (type.high - type.low) * random.below(5) / 4.0;
    if (options.magnitude && type.high > 0) fault.magnitude = *options.magnitude;
    fault.node = draw_node(job, random);
    fault.gpu = static_cast<int>(random.below(kGpus));
    if (job.shares_node && fault.node == job.first_node + job.nodes - 1) fault.gpu %= kGpus / 2;
    fault.has_trace = random.chance(0.6);
    fault.replaces_node = random.chance(0.7);
    scenario.faults.push_back(fault);
  }
}

void draw_congestions(Scenario& scenario, Pcg& random) {
  if (!random.chance(0.3)) return;
  scenario.confounders.push_back(Confounder::congestion);
  const int leaves = (scenario.jobs.front().nodes + scenario.nodes_of_leaf - 1) / scenario.nodes_of_leaf;
  double at = random.uniform(3600, 14400);
  while (at < scenario.seconds() && scenario.congestions.size() < kMostFaults) {
    scenario.congestions.push_back({at, random.uniform(300, 2400),
                                    static_cast<int>(random.below(static_cast<std::uint32_t>(leaves))),
                                    random.uniform(0.2, 0.8)});
    at += random.uniform(7200, 28800);
  }
}

}  // namespace

Result<Scenario> make_scenario(std::uint64_t seed, const ScenarioOptions& options) {
  if (options.nodes && (*options.nodes < 1 || *options.nodes > kMaxNodes))
    return fail(Errc::malformed, "nodes: expected 1 to " + std::to_string(kMaxNodes));
  if (options.hours && !(*options.hours >= 0.1 && *options.hours <= kMaxHours))
    return fail(Errc::malformed, "hours: expected 0.1 to 744");
  if (!(options.faults_per_1000_node_days >= 0 && options.faults_per_1000_node_days <= 1e6))
    return fail(Errc::malformed, "faults per 1000 node-days: expected 0 to 1e6");
  if (options.magnitude && !(*options.magnitude > 0 && *options.magnitude <= 0.9))
    return fail(Errc::malformed, "magnitude: expected a fraction up to 0.9");
  if (!(options.missing_windows <= 0.5))
    return fail(Errc::malformed, "missing windows: expected a fraction up to 0.5");
  Pcg random = Pcg::mixed(seed, 1);
  Scenario scenario;
  scenario.name = "seed-" + std::to_string(seed);
  scenario.title = "drawn from seed " + std::to_string(seed);
  scenario.seed = seed;
  scenario.hours = options.hours.value_or(24);
  JobPlan job;
  const int drawn = kSizes[random.below(kSizes.size())];
  job.nodes = options.nodes.value_or(drawn);
  const auto kind =
      random.chance(0.15) && job.nodes <= 64 ? jobs::JobKind::inference : jobs::JobKind::training;
  job.kind = options.kind.value_or(kind);
  const bool is_inference = job.kind == jobs::JobKind::inference;
  job.progress = draw_progress(random);
  if (is_inference) {
    job.job = job.name = "serve-a";
  } else {
    draw_workload(job, scenario, random);
  }
  draw_interruptions(job, scenario, random);
  scenario.nodes_of_leaf = leaf_size(job.nodes);
  scenario.nodes = job.nodes;
  scenario.jobs.push_back(std::move(job));
  draw_surroundings(scenario, options, random);
  if (!is_inference && scenario.nodes > 1 && random.chance(0.15)) share_last_node(scenario, random);
  scenario.spares = static_cast<int>(random.below(3));
  scenario.nodes += scenario.spares;
  draw_faults(scenario, options, random);
  if (!is_inference) draw_congestions(scenario, random);
  return scenario;
}

}  // namespace autopilot::simulated_jobs
