// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/metrics.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs::bench {

// The jobs that run, and the last windows of some metrics: what the methods in job_baselines.hpp look at.
class JobTables {
 public:
  struct Part {
    std::string node;
    int gpu = 0;
  };
  struct Job {
    int attempt = 0;
    std::vector<Part> parts;         // the GPUs of its ranks
    std::vector<std::string> nodes;  // of its ranks, sorted
    std::optional<WallTime> last_step;
  };

  explicit JobTables(std::vector<Metric> metrics) : metrics_(std::move(metrics)) {}

  void add(const Record& record);
  [[nodiscard]] const std::map<std::string, Job, std::less<>>& jobs() const { return jobs_; }
  // Mean of a metric of a GPU over the windows that ended in the time `length` before `now`. NaN: no value.
  [[nodiscard]] float mean(Metric metric, const Part& part, Duration length, WallTime now) const;
  // Mean over all rows of a node, for each of its last kWindows windows, oldest first. Empty: too few.
  [[nodiscard]] std::vector<float> last(Metric metric, const std::string& node, WallTime now) const;

  static constexpr std::size_t kWindows = 8;

 private:
  struct Sample {
    WallTime time{};
    std::vector<std::vector<float>> values;  // of each metric: by index of the GPU, or by row
  };

  void note(const JobRecord& record);
  void note(const JobEndRecord& record) { jobs_.erase(record.job); }
  void note(const StepRecord& record);
  void note(const WindowRecord& record);
  template <class R>
  void note(const R&) {}
  [[nodiscard]] std::size_t place_of(Metric metric) const;

  std::vector<Metric> metrics_;
  std::map<std::string, Job, std::less<>> jobs_;
  std::map<std::string, std::deque<Sample>, std::less<>> nodes_;
};

}  // namespace autopilot::jobs::bench
