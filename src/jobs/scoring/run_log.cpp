// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/run_log.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

namespace autopilot::jobs {
namespace {

constexpr std::size_t kMaxRuns = 10'000;  // of one job

double days_between(WallTime begin, WallTime end) {
  return end > begin ? to_seconds(end - begin) / 86400 : 0;
}

}  // namespace

RunLog::Job* RunLog::find_job(const std::string& name) {
  if (const auto known = jobs_.find(name); known != jobs_.end()) return &known->second;
  if (jobs_.size() < kMaxNames) return &jobs_[name];
  ++dropped_;
  return nullptr;
}

void RunLog::note_node(const std::string& node, WallTime time) {
  if (const auto known = nodes_.find(node); known != nodes_.end())
    known->second = std::min(known->second, time);
  else if (nodes_.size() < kMaxNames)
    nodes_.emplace(node, time);
  else
    ++dropped_;
}

void RunLog::note(const NodeRecord& record) {
  note_node(record.node, record.time);
}

void RunLog::note(const WindowRecord& record) {
  note_node(record.node, record.time);
}

void RunLog::note(const JobRecord& record) {
  Job* job = find_job(record.job);
  if (job == nullptr) return;
  const bool is_running = !job->runs.empty() && !job->runs.back().end;
  if (is_running) return;  // its ranks changed, or it started again without an end
  if (job->runs.size() < kMaxRuns)
    job->runs.push_back({record.time, std::nullopt});
  else
    ++dropped_;
}

void RunLog::note(const JobEndRecord& record) {
  const auto job = jobs_.find(record.job);
  if (job != jobs_.end() && !job->second.runs.empty() && !job->second.runs.back().end)
    job->second.runs.back().end = record.time;
}

void RunLog::note(const StepRecord& record) {
  if (Job* job = find_job(record.job); job != nullptr)
    job->last_step = job->last_step ? std::max(*job->last_step, record.time) : record.time;
}

void RunLog::add(const Record& record) {
  const WallTime time = time_of(record);
  first_ = first_ ? std::min(*first_, time) : time;
  last_ = last_ ? std::max(*last_, time) : time;
  std::visit([this](const auto& held) { note(held); }, record);
}

void RunLog::add(const JobFinding& finding, WallTime now) {
  auto position = positions_.find(finding.id);
  if (position == positions_.end()) {
    if (findings_.size() == kMaxFindings) {
      ++dropped_;
      return;
    }
    position = positions_.emplace(finding.id, findings_.size()).first;
    findings_.push_back({finding, std::nullopt, std::nullopt});
  }
  LoggedFinding& logged = findings_[position->second];
  logged.finding = finding;
  if (logged.raised || finding.severity == Severity::info) return;
  logged.raised = now;
  if (const auto job = jobs_.find(finding.job); job != jobs_.end()) logged.last_step = job->second.last_step;
}

Exposure RunLog::exposure(std::optional<WallTime> begin, std::optional<WallTime> end) const {
  Exposure exposure;
  exposure.begin = begin.value_or(first_.value_or(WallTime{}));
  exposure.end = end.value_or(last_.value_or(exposure.begin));
  for (const auto& [node, first] : nodes_)
    exposure.node_days += days_between(std::max(first, exposure.begin), exposure.end);
  for (const auto& [name, job] : jobs_)
    for (const Run& run : job.runs)
      exposure.job_days += days_between(std::max(run.begin, exposure.begin),
                                        std::min(run.end.value_or(exposure.end), exposure.end));
  return exposure;
}

}  // namespace autopilot::jobs
