// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/controller/simulated_cluster.hpp"

// Jobs of the simulated cluster: pods that are placed, tested before they start, and recreated after they
// leave.
namespace autopilot::controller::simulation {

inline void Cluster::happen_to_jobs(const Event& event) {
  switch (event.kind) {
    case Kind::start_job:
      return start_job(event.about);
    case Kind::place_pod:
      return place_pod(event.about);
    case Kind::gate:
      return gate(event.about);
    case Kind::end_job:
      return end_job(event.about);
    default:
      return lose_pod(event.about);
  }
}

inline void Cluster::start_job(std::uint64_t number) {
  static constexpr std::array sizes = {1, 1, 2, 4, 8, 16};
  Job job;
  job.owner = {.api_version = "batch/v1", .kind = "Job", .name = "job-" + std::to_string(number), .uid = {}};
  job.owner.uid = job.owner.name + '-' + std::to_string(now_);
  const int place = below(10);
  job.pool = place < 6 ? "act" : place < 9 ? "hold" : "observe";
  job.gpus = below(4) == 0 ? 4 : 8;
  job.is_lonely = below(20) == 0;
  job.pods = job.is_lonely ? 1 : sizes[static_cast<std::size_t>(below(sizes.size()))];
  job.ends = now_ + between(kDay, 8 * kDay);
  for (int i = 0; i < job.pods; ++i)
    push(now_ + between(0, kMinute), Kind::place_pod, number);
  push(job.ends, Kind::end_job, number);
  jobs_[number] = std::move(job);
}

// A scheduler that respects only GPUs, cordons and soft taints.
inline void Cluster::place_pod(std::uint64_t number) {
  const auto at = jobs_.find(number);
  if (at == jobs_.end() || now_ >= at->second.ends) return;
  Job& job = at->second;
  for (int tries = 0; tries < 30; ++tries) {
    const std::size_t machine = any_machine();
    const Node& node = *real_.node(machines_[machine].name);
    if (node.pool != job.pool || node.is_unschedulable || node.verdict == Verdict::testing) continue;
    if (machines_[machine].free_gpus < job.gpus || (node.probation && tries < 15)) continue;
    const std::uint64_t pod_number = ++pods_;
    Pod pod;
    pod.name_space = "team";
    pod.uid = pod_uid(pod_number);
    pod.name = pod.uid;
    pod.node = node.name;
    if (!job.is_lonely) pod.owner = job.owner;
    pod.gpus = job.gpus;
    pod.is_gated = true;
    machines_[machine].free_gpus -= job.gpus;
    job.running.insert(pod_number);
    tasks_[pod_number] = {.job = number, .machine = machine};
    put(std::move(pod));
    return push(now_ + between(5, kMinute), Kind::gate, pod_number);
  }
  push(now_ + between(kMinute, 20 * kMinute), Kind::place_pod, number);
}

// The end of its pre-flight test, which is repeated if it failed.
inline void Cluster::gate(std::uint64_t number) {
  const Pod* known = real_.pod(pod_uid(number));
  if (known == nullptr || known->is_deleting || !known->is_gated) return;
  Task& task = tasks_[number];
  Machine& machine = machines_[task.machine];
  Pod pod = *known;
  if (machine.fault != Fault::none && machine.silent_since < 0) {
    if (!std::exchange(task.is_reported, true)) {
      machine.bad_shown = now_;
      report_on(pod, Outcome::failed);
    }
    return push(now_ + 15 * kMinute, Kind::gate, number);
  }
  if (machine.silent_since < 0 && below(50) == 0) report_on(pod, Outcome::could_not_look);
  if (machine.silent_since < 0 && real_.of_concern().contains(pod.node)) {
    machine.proven = now_;
    change(task.machine, [&](Node& node) { node.passed[std::string(kTest)] = time(); });
  }
  pod.is_gated = false;
  put(std::move(pod));
}

inline void Cluster::report_on(const Pod& pod, Outcome outcome) {
  Report report;
  report.name = report_name(++reports_);
  report.node = pod.node;
  report.pod_namespace = pod.name_space;
  report.pod = pod.name;
  report.pod_uid = pod.uid;
  report.owner = pod.owner;
  report.outcome = outcome;
  if (outcome == Outcome::failed)
    report.failed = {{.test = std::string(kTest), .reason = "slow", .message = {}}};
  report.time = time();
  push(now_ + 2 * kDay, Kind::forget_report, reports_);
  put(std::move(report));
}

inline void Cluster::end_job(std::uint64_t number) {
  for (const std::uint64_t pod : std::set(jobs_[number].running))
    lose_pod(pod);
  jobs_.erase(number);
  if (!is_calm_ || below(2) == 0) push(now_ + between(kMinute, kHour), Kind::start_job, number);
}

inline void Cluster::lose_pod(std::uint64_t number) {
  const auto at = tasks_.find(number);
  if (at == tasks_.end()) return;
  const Task task = at->second;
  tasks_.erase(at);
  const std::string uid = pod_uid(number);
  machines_[task.machine].free_gpus += real_.pod(uid)->gpus;
  real_.remove_pod(uid);
  late_pods_.insert(uid);
  push(now_ + below(kLag), Kind::show_pod, number);
  const auto job = jobs_.find(task.job);
  if (job != jobs_.end()) job->second.running.erase(number);
  if (job != jobs_.end() && !job->second.is_lonely && now_ < job->second.ends)
    push(now_ + between(1, kMinute), Kind::place_pod, task.job);
}

inline bool Cluster::write_pod(const PlannedAction& action, bool answers) {
  const Pod* known = real_.pod(action.target.uid);
  if (known == nullptr) return true;
  if (action.kind == ActionKind::evict_pod && happens(trouble_.refused_evictions)) return false;
  if (!known->is_deleting) {
    Pod pod = *known;
    pod.is_deleting = true;
    put(std::move(pod));
    push(now_ + between(5, kMinute), Kind::pod_gone, number_of(action.target.uid));
  }
  if (answers) show_pod(action.target.uid);
  return true;
}

inline void Cluster::put(Pod pod) {
  const std::string uid = pod.uid;
  real_.put(std::move(pod));
  late_pods_.insert(uid);
  push(now_ + below(kLag), Kind::show_pod, number_of(uid));
}

inline void Cluster::put(Report report) {
  const std::string name = report.name;
  real_.put(std::move(report));
  late_reports_.insert(name);
  push(now_ + below(kLag), Kind::show_report, number_of(name));
}

inline void Cluster::show_pod(const std::string& uid) {
  if (late_pods_.erase(uid) == 0) return;
  const Pod* pod = real_.pod(uid);
  has_news_ |= pod == nullptr ? seen_.remove_pod(uid) : seen_.put(*pod);
}

inline void Cluster::show_report(const std::string& name) {
  if (late_reports_.erase(name) == 0) return;
  const Report* report = real_.report(name);
  has_news_ |= report == nullptr ? seen_.remove_report(name) : seen_.put(*report);
}

}  // namespace autopilot::controller::simulation
