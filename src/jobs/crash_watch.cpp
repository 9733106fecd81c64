// SPDX-License-Identifier: Apache-2.0
#include "jobs/crash_watch.hpp"

namespace autopilot::jobs {

void CrashWatch::start() {
  *this = CrashWatch{};
}

void CrashWatch::add(const ExitRecord& record) {
  if (exits_.size() < kMaxExits) exits_.push_back(record);
  const bool is_error = record.code.value_or(0) != 0 || record.signal || record.oom;
  if (is_error && (!failed_ || record.time < *failed_)) failed_ = record.time;
}

void CrashWatch::add(const LogRecord& record) {
  if (logs_.size() < kMaxLogs) logs_.push_back(record);
}

void CrashWatch::add(const PodRecord& record) {
  if (pods_.size() < kMaxExits) pods_.push_back(record);
}

bool CrashWatch::is_due(WallTime now) const {
  return has_failed() && now - *failed_ >= kSettle;
}

Failure CrashWatch::explain(const JobContext& job, WallTime end) {
  is_reported_ = true;
  FailureInputs inputs{
      .job = &job.record, .end = failed_.value_or(end), .exits = exits_, .logs = logs_, .pods = pods_};
  inputs.root = job.events.root_of(inputs.end, job.record);
  inputs.loss_is_nan = job.progress.loss_is_nan().has_value();
  return explain_failure(inputs);
}

}  // namespace autopilot::jobs
