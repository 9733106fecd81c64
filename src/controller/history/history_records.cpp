// SPDX-License-Identifier: Apache-2.0
#include "controller/history/history_records.hpp"

#include <algorithm>
#include <utility>

#include "core/stable_hash.hpp"

namespace autopilot::controller {
namespace {

constexpr std::size_t kLongestHistoryId = 253;  // bytes

learning::Place place_at(const std::string& node) {
  return {.cluster = {}, .node = node, .gpu = {}};
}

learning::Verdict verdict_in(jobs::ValidationVerdict verdict) {
  switch (verdict) {
    case jobs::ValidationVerdict::passed:
      return learning::Verdict::passed;
    case jobs::ValidationVerdict::failed:
      return learning::Verdict::failed;
    case jobs::ValidationVerdict::unknown:
      break;
  }
  return learning::Verdict::unknown;
}

learning::Depth depth_in(jobs::ValidationDepth depth) {
  switch (depth) {
    case jobs::ValidationDepth::passive:
      return learning::Depth::passive;
    case jobs::ValidationDepth::quick:
      return learning::Depth::quick;
    case jobs::ValidationDepth::deep:
      return learning::Depth::deep;
    case jobs::ValidationDepth::pair:
      break;
  }
  return learning::Depth::pair;
}

learning::JobOutcome outcome_in(const jobs::JobReport& report) {
  switch (report.outcome.value_or(jobs::Outcome::unknown)) {
    case jobs::Outcome::completed:
      return learning::JobOutcome::completed;
    case jobs::Outcome::failed:
      return learning::JobOutcome::failed;
    case jobs::Outcome::stopped:
      return learning::JobOutcome::stopped;
    case jobs::Outcome::preempted:
      return learning::JobOutcome::preempted;
    case jobs::Outcome::unknown:
      break;
  }
  return learning::JobOutcome::unknown;
}

learning::FaultClass class_of_culprit(jobs::EntityKind kind) {
  if (kind == jobs::EntityKind::gpu) return learning::FaultClass::hardware;
  return kind == jobs::EntityKind::nic ? learning::FaultClass::network : learning::FaultClass::unknown;
}

// "gpu/0000:3b:00.0", "nic_port/mlx5_0/1"
learning::FaultClass class_of_blamed(std::string_view blamed) {
  const std::string_view kind = blamed.substr(0, blamed.find('/'));
  if (kind == "nic_port" || kind == "link" || kind == "peer") return learning::FaultClass::network;
  if (kind == "gpu" || kind == "gpu_instance" || kind == "nvlink" || kind == "nvswitch" || kind == "disk")
    return learning::FaultClass::hardware;
  return learning::FaultClass::unknown;
}

std::string hit_key(WallTime time) {
  return std::to_string(std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

// The id of the agent names its node; another one could be that of another node.
std::string validation_id_of(const jobs::ValidationRecord& record) {
  const std::string place = "@" + record.node + "@";
  if (record.id.empty()) return history_id(record.job + place + hit_key(record.time));
  return record.id.find(place) == std::string::npos ? history_id(record.node + "/" + record.id) : record.id;
}

learning::Fault fault_of_finding(const jobs::JobFinding& finding) {
  const bool is_failed = finding.effect == jobs::Effect::hang || finding.effect == jobs::Effect::crash;
  learning::Fault fault;
  fault.id = history_id(finding.culprit.node + "/job-finding/" + finding.id);
  fault.place = place_at(finding.culprit.node);
  fault.begin = finding.onset;
  fault.detected = std::max(finding.onset, finding.detected);
  if (finding.resolved) fault.end = std::max(finding.onset, *finding.resolved);
  fault.kind = class_of_culprit(finding.culprit.kind);
  fault.cause = finding.cause;
  fault.text = finding.summary;
  fault.health = is_failed ? Health::failed : Health::degraded;
  fault.confidence = finding.probability;
  fault.job = finding.job;
  return fault;
}

}  // namespace

std::string history_id(std::string whole) {
  if (whole.size() <= kLongestHistoryId) return whole;
  return "hash/" + std::to_string(stable_hash(whole).value());
}

learning::Validation validation_of(const jobs::ValidationRecord& record) {
  learning::Validation validation;
  validation.id = validation_id_of(record);
  validation.place = place_at(record.node);
  validation.start = validation.end = record.time;
  validation.reason = learning::Reason::job_end;
  validation.depth = depth_in(record.depth);
  validation.verdict = verdict_in(record.verdict);
  validation.job = record.job;
  validation.cause = record.text;
  for (const jobs::FailedCheck& failed : record.failed)
    validation.checks.push_back({.check = failed.check,
                                 .gpu = failed.gpu,
                                 .health = Health::failed,
                                 .reason = failed.reason,
                                 .text = failed.text});
  return validation;
}

std::vector<learning::HistoryRecord> node_jobs_of(const jobs::JobReport& report) {
  std::vector<learning::HistoryRecord> records;
  if (!report.ended || report.started == WallTime{}) return records;
  learning::NodeJob job;
  job.job = report.state.job;
  job.name = report.state.name;
  job.start = report.started;
  job.end = std::max(report.started, *report.ended);
  job.outcome = outcome_in(report);
  if (report.failure) job.failure = jobs::to_string(report.failure->kind);
  for (const std::string& node : report.nodes) {
    job.id = history_id(report.state.job + "@" + node + "@" + hit_key(report.started));
    job.place = place_at(node);
    records.emplace_back(job);
  }
  return records;
}

std::vector<learning::Fault> faults_of(const jobs::JobReport& report) {
  std::vector<learning::Fault> faults;
  for (const jobs::JobFinding& finding : report.findings)
    if (finding.is_confirmed && finding.culprit.is_accused() &&
        finding.culprit.kind != jobs::EntityKind::leaf && !finding.culprit.node.empty())
      faults.push_back(fault_of_finding(finding));
  return faults;
}

std::optional<learning::Repair> repair_of(const LedgerEntry& entry) {
  if (!entry.begun || !entry.returned) return std::nullopt;
  learning::Repair repair;
  repair.id = history_id(entry.name);
  repair.place = place_at(entry.node);
  repair.begin = *entry.begun;
  repair.end = std::max(*entry.begun, *entry.returned);
  repair.action = "held: " + entry.cause;
  repair.note = entry.is_released ? "given back by hand" : "given back after proof of its health";
  return repair;
}

void JobsOnNodes::note(const jobs::JobReport& report, WallTime now) {
  for (const std::string& node : report.nodes) {
    std::deque<Run>& runs = runs_[node];
    std::erase_if(runs, [&](const Run& run) {
      return run.job == report.state.job || (run.end && now - *run.end > kRemembered);
    });
    const bool is_forgotten = report.ended && now - *report.ended > kRemembered;
    if (!is_forgotten) runs.push_back({report.state.job, report.started, report.ended});
    if (runs.size() > kMostOfNode) runs.pop_front();
    if (runs.empty()) runs_.erase(node);
  }
}

std::string JobsOnNodes::hit(std::string_view node, WallTime begin) const {
  const auto found = runs_.find(node);
  if (found == runs_.end()) return {};
  std::string job;
  WallTime newest{};
  for (const Run& run : found->second) {
    const bool ran = run.begin <= begin && (!run.end || *run.end + kBefore >= begin);
    if (!ran || (!job.empty() && run.begin < newest)) continue;
    job = run.job;
    newest = run.begin;
  }
  return job;
}

std::optional<learning::Fault> fault_of(const Node& node, const OpenCause& cause, const JobsOnNodes& jobs) {
  if (cause.is_of_job || cause.since == WallTime{}) return std::nullopt;
  learning::Fault fault;
  fault.id = history_id(node.name + "/" + cause.incident);
  fault.place = place_at(node.name);
  fault.begin = cause.since;
  fault.kind = class_of_blamed(cause.blamed);
  fault.check = cause.cause;
  fault.cause = cause.cause;
  fault.text = cause.cause + " blames " + cause.blamed;
  fault.health = Health::failed;
  fault.confidence = 1;
  fault.job = jobs.hit(node.name, cause.since);
  if (cause.action != Action::none) fault.action = cause.action;
  return fault;
}

bool is_over(const learning::Fault& open, const Node& node) {
  const bool is_known = node.verdict && *node.verdict != Verdict::none && !node.is_unknown && node.looked &&
                        *node.looked > open.begin;
  return is_known && std::ranges::none_of(node.causes, [&](const OpenCause& cause) {
           return history_id(node.name + "/" + cause.incident) == open.id;
         });
}

}  // namespace autopilot::controller
