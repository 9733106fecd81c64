// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"
#include "kube/client.hpp"
#include "kube/job_health_reports.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

// What the report of a job states for the next leader. Actions that its memory lacks come from `actions`.
// Untrusted: a client that can write reports in one namespace must not change what is known of a job in
// another. denied: the report is not that of its job. malformed: its memory cannot be used; `actions` still
// count then (see job_memory.hpp).
struct RecalledJob {
  jobs::JobReport report;
  std::string problem;  // why the memory is ignored; empty: it is not
};
// name_space: of Autopilot.
[[nodiscard]] Result<RecalledJob> recall_job(const kube::JobHealthReport& stored, std::string_view name_space,
                                             WallTime now);

// Reads the JobHealthReports that earlier leaders wrote, once, for a new leader. On the loop's thread.
class JobRecall {
 public:
  static constexpr Duration kPatience = std::chrono::minutes{1};  // for an API server that does not answer
  static constexpr Duration kAgain = std::chrono::seconds{1};
  static constexpr std::size_t kMaxJobs = 4096;  // beyond, reports are ignored
  static constexpr int kMaxLogged = 10;          // problems

  // Reports that state something for the next leader.
  using OnRecalled = std::function<void(std::vector<jobs::JobReport> reports)>;

  JobRecall(net::EventLoop& loop, kube::Client& client, const Clock& clock, std::string name_space);
  JobRecall(const JobRecall&) = delete;
  JobRecall& operator=(const JobRecall&) = delete;
  ~JobRecall() = default;

  // Calls on_recalled once. Without an answer within kPatience, or without the permission, nothing is known;
  // the log states it.
  void start(OnRecalled on_recalled);

 private:
  struct Known {
    std::optional<WallTime> updated;
    jobs::JobReport report;
  };

  void read(const std::string& page);
  void take(const kube::ApiResult<std::string>& answer);
  void add(const kube::JobHealthReport& stored);
  void note_problem(const kube::JobHealthReport& stored, const std::string& why);
  void finish();

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const std::string name_space_;
  OnRecalled on_recalled_;
  MonoTime since_{};
  std::map<std::string, Known> jobs_;
  int problems_ = 0;
  net::Subscription again_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::controller
