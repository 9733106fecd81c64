// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/job_records.hpp"
#include "core/result.hpp"
#include "workloads/compare/readings.hpp"

namespace autopilot::cli {

// Collects series and times from the files of a recording of a job (docs/reference/job-telemetry.md).
class RecordingSeries {
 public:
  // `name`: the file as sources show it. A line that is malformed is left out and counted. exhausted: more
  // values than one file may have.
  Status add_file(api::JobFile file, std::string_view text, const std::string& name);
  // Series of windows and steps; the times to start and to recover of the job with the most steps.
  [[nodiscard]] workloads::compare::Readings take();

 private:
  struct Collected {
    workloads::compare::Series series;
    std::vector<double> times;
  };
  struct JobTimes {
    std::vector<double> starts;
    std::vector<double> ends;
    std::vector<double> steps;
    workloads::compare::Source source;
  };

  void add_record(const jobs::Record& record, int line, const std::string& name);
  void add_window(const jobs::WindowRecord& window, int line, const std::string& name);
  void add_step(const jobs::StepRecord& step, int line, const std::string& name);
  void add_value(const std::string& metric, const std::string& subject, const std::string& unit,
                 double time_s, double value, const workloads::compare::Source& source);
  void add_times(workloads::compare::Readings& readings) const;

  std::map<std::pair<std::string, std::string>, Collected> series_;  // by metric and subject
  std::map<std::string, JobTimes> jobs_;
  std::map<std::string, int> first_rank_;  // of the steps of a job
  std::vector<std::string> notes_;
  std::size_t count_ = 0;
  bool is_full_ = false;
};

}  // namespace autopilot::cli
