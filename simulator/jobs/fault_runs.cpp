// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/fault_runs.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/jobs/names.hpp"

namespace autopilot::simulated_jobs {
namespace {

constexpr double kPostponed = 60;
constexpr double kSlows = 0.01;  // below, a fault does not slow the job
constexpr std::size_t kMaxLabels = 100'000;

bool is_timed(FaultClass fault_class) {
  const jobs::Effect effect = type_of(fault_class).effect;
  return effect == jobs::Effect::slow || effect == jobs::Effect::none || is_of_inference(fault_class);
}

bool is_of_network(FaultClass fault_class) {
  const Target target = type_of(fault_class).target;
  return target == Target::nic || target == Target::leaf;
}

// Names what the class of the fault accuses.
void name_culprit(jobs::FaultLabel& label, const PlannedFault& fault, int leaf) {
  switch (type_of(fault.fault_class).target) {
    case Target::gpu:
      label.gpu = fault.gpu;
      label.node = node_name(fault.node);
      break;
    case Target::nic:
      label.nic = nic_name(fault.gpu);
      label.node = node_name(fault.node);
      break;
    case Target::node:
      label.node = node_name(fault.node);
      break;
    case Target::leaf:
      label.leaf = leaf_name(leaf);
      break;
    case Target::program:
    case Target::storage:
      break;
  }
}

}  // namespace

FaultRuns::FaultRuns(const Scenario& scenario)
    : scenario_(scenario), effects_(static_cast<std::size_t>(scenario.nodes)), around_(scenario.jobs.size()) {
  for (const PlannedFault& fault : scenario.faults)
    if (is_timed(fault.fault_class)) planned_.push_back(fault);
  std::ranges::sort(planned_, {}, &PlannedFault::at);
  labels_.begin = wall(0);
  labels_.end = wall(scenario.seconds());
  label_confounders();
}

WallTime FaultRuns::wall(double at) const {
  return scenario_.start + std::chrono::milliseconds(std::llround(at * 1000));
}

void FaultRuns::label_confounders() {
  for (const Confounder confounder : scenario_.confounders) {
    const std::string name(confounder_types()[static_cast<std::size_t>(confounder)].name);
    if (confounder == Confounder::congestion) continue;
    labels_.confounders.push_back({name, wall(0), wall(scenario_.seconds()), {}, {}});
  }
  for (const Congestion& congestion : scenario_.congestions)
    labels_.confounders.push_back({"congestion",
                                   wall(congestion.at),
                                   wall(std::min(scenario_.seconds(), congestion.at + congestion.lasting)),
                                   {},
                                   {}});
}

void FaultRuns::update(double from, std::span<JobRun> jobs, std::vector<jobs::Record>& out) {
  std::ranges::fill(effects_, NodeEffects{});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].clear_faults();
    around_[i] = {};
    around_[i].speed = 1 - scenario_.diurnal * wave(from / 86400);
  }
  apply_due_congestions(from, jobs);
  std::erase_if(stops_, [&](const Stop& stop) { return stop.restart <= from; });
  for (const Stop& stop : stops_)
    apply_stop(stop);
  begin_due(from, jobs, out);
  std::erase_if(active_, [&](const Active& active) {
    const JobRun& job = jobs[static_cast<std::size_t>(active.fault.job)];
    const Target target = type_of(active.fault.fault_class).target;
    const bool is_gone =
        target != Target::leaf && target != Target::storage && !job.has_node(active.fault.node);
    if (active.end > from && !is_gone) return false;
    end_label(active.label, std::min(from, active.end));
    if (active.fault.fault_class == FaultClass::nic_down)
      out.emplace_back(
          jobs::LinkRecord{wall(from), node_name(active.fault.node), nic_name(active.fault.gpu), true});
    return true;
  });
  for (Active& active : active_)
    apply(active, from, jobs, out);
}

void FaultRuns::begin_due(double from, std::span<JobRun> jobs, std::vector<jobs::Record>& out) {
  for (PlannedFault& fault : planned_) {
    if (fault.at > from) continue;
    const JobRun& job = jobs[static_cast<std::size_t>(fault.job)];
    if (!job.is_training() || job.stop()) {
      fault.at = from + kPostponed;
      continue;
    }
    fault.at = -1;
    const Target target = type_of(fault.fault_class).target;
    const bool is_shared = target == Target::leaf || target == Target::storage;
    if (!is_shared) fault.node = job.present(fault.node);
    if ((!is_shared && !job.rank_at(fault.node, fault.gpu)) || labels_.faults.size() >= kMaxLabels) continue;
    Active active{fault, from, from + fault.lasting, labels_.faults.size(), from};
    begin_label(active, from, job);
    if (fault.fault_class == FaultClass::nic_down)
      out.emplace_back(jobs::LinkRecord{wall(from), node_name(fault.node), nic_name(fault.gpu), false});
    active_.push_back(active);
  }
  std::erase_if(planned_, [](const PlannedFault& fault) { return fault.at < 0; });
}

void FaultRuns::begin_label(Active& active, double from, const JobRun& job) {
  const FaultType& type = type_of(active.fault.fault_class);
  jobs::FaultLabel label;
  label.id = "fault-" + std::to_string(labels_.faults.size() + 1);
  label.fault_class = type.name;
  label.onset = wall(from);
  label.end = wall(scenario_.seconds());
  label.effect = type.effect;
  label.job = job.plan().job;
  label.is_localisable = active.fault.fault_class != FaultClass::sdc;
  name_culprit(label, active.fault, leaf_of(active.fault.node));
  if (type.target == Target::gpu) label.rank = job.rank_at(active.fault.node, active.fault.gpu);
  if (type.effect == jobs::Effect::slow) {
    JobRun slowed = job;  // at full strength, without the faults of others
    JobSurroundings around;
    slowed.clear_faults();
    const double before = slowed.expected_step(around);
    const std::vector<NodeEffects> kept = effects_;
    std::vector<jobs::Record> ignored;
    Active full = active;
    if (is_of_network(full.fault.fault_class))
      apply_to_network(full, from, slowed, around, ignored);
    else if (type.target == Target::gpu)
      apply_to_gpu(full.fault, 1, slowed);
    else
      apply_to_host(full.fault, slowed, around);
    effects_ = kept;
    label.magnitude = full.fault.fault_class == FaultClass::link_flap ? full.fault.magnitude
                      : job.plan().kind == jobs::JobKind::inference
                          ? 1 / (1 - full.fault.magnitude) - 1
                          : slowed.expected_step(around) / before - 1;
    if (*label.magnitude < kSlows) label.effect = jobs::Effect::none;
  }
  labels_.faults.push_back(std::move(label));
}

void FaultRuns::end_label(std::size_t label, double at) {
  labels_.faults[label].end = wall(at);
}

void FaultRuns::add_stops(std::span<JobRun> jobs) {
  for (JobRun& job : jobs) {
    for (Stop& stop : job.take_stops()) {
      if (labels_.faults.size() >= kMaxLabels) continue;
      const FaultType& type = type_of(stop.fault.fault_class);
      jobs::FaultLabel label;
      label.id = "fault-" + std::to_string(labels_.faults.size() + 1);
      label.fault_class = type.name;
      label.onset = wall(stop.onset);
      label.end = wall(std::min(stop.restart, scenario_.seconds()));
      label.effect = type.effect;
      label.job = job.plan().job;
      label.is_localisable =
          stop.fault.fault_class != FaultClass::hang_link_equal_counts || stop.fault.has_trace;
      name_culprit(label, stop.fault, leaf_of(stop.fault.node));
      if (type.target == Target::gpu) label.rank = stop.rank;
      labels_.faults.push_back(std::move(label));
      apply_stop(stop);  // for the window that just passed
      stops_.push_back(stop);
    }
  }
}

void FaultRuns::finish(double at) {
  for (const Active& active : active_)
    end_label(active.label, at);
  active_.clear();
}

void FaultRuns::apply_due_congestions(double from, std::span<JobRun> jobs) {
  for (const Congestion& congestion : scenario_.congestions) {
    if (from < congestion.at || from >= congestion.at + congestion.lasting) continue;
    PlannedFault like;
    like.node = congestion.leaf * scenario_.nodes_of_leaf;
    apply_to_leaf(like, true);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (leaf_of(jobs[i].plan().first_node) <= congestion.leaf &&
          leaf_of(jobs[i].plan().first_node + jobs[i].plan().nodes - 1) >= congestion.leaf)
        around_[i].communication *= 1 + congestion.magnitude;
  }
}

void FaultRuns::apply(Active& active, double from, std::span<JobRun> jobs, std::vector<jobs::Record>& out) {
  const auto index = static_cast<std::size_t>(active.fault.job);
  JobRun& job = jobs[index];
  const Target target = type_of(active.fault.fault_class).target;
  if (active.fault.fault_class == FaultClass::sdc)
    around_[index].has_nan = true;
  else if (is_of_network(active.fault.fault_class))
    apply_to_network(active, from, job, around_[index], out);
  else if (target == Target::gpu)
    apply_to_gpu(active.fault, std::min(1.0, (from - active.begin + kWindow) / 900), job);
  else
    apply_to_host(active.fault, job, around_[index]);
}

}  // namespace autopilot::simulated_jobs
