// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "jobs/decision/failure.hpp"
#include "jobs/job_context.hpp"

namespace autopilot::jobs {

// Ends of ranks of one attempt, and what explains them.
class CrashWatch {
 public:
  static constexpr std::size_t kMaxExits = 4096;
  static constexpr std::size_t kMaxLogs = 256;  // first ones: later ranks mostly report consequences
  // After the first failed rank, others follow, and so do their last words.
  static constexpr Duration kSettle = std::chrono::seconds(60);

  void start();
  void add(const ExitRecord& record);
  void add(const LogRecord& record);
  void add(const PodRecord& record);

  // A rank ended with an error, kSettle ago: explain() states why. False after it was reported.
  [[nodiscard]] bool is_due(WallTime now) const;
  // A rank ended with an error and was not reported yet.
  [[nodiscard]] bool has_failed() const { return failed_ && !is_reported_; }
  [[nodiscard]] std::optional<WallTime> failed() const { return failed_; }
  [[nodiscard]] Failure explain(const JobContext& job, WallTime end);

 private:
  std::vector<ExitRecord> exits_;
  std::vector<LogRecord> logs_;
  std::vector<PodRecord> pods_;
  std::optional<WallTime> failed_;
  bool is_reported_ = false;
};

}  // namespace autopilot::jobs
