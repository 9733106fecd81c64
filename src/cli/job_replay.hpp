// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/job_records.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/engine.hpp"
#include "jobs/findings.hpp"

namespace autopilot::cli {

// The line problems of one run: the first are printed on standard error, all are counted.
class ProblemList {
 public:
  static constexpr std::uint64_t kMostPrinted = 20;

  void add(const std::string& problem);
  // Prints how many more there were.
  void finish() const;
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

// What the run did, at its end.
struct ReplaySummary {
  std::vector<jobs::JobState> jobs;
  jobs::EngineCounts counts;
  std::optional<WallTime> begin, end;  // not set: no record
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::uint64_t malformed = 0;  // lines that were left out
};

// Runs the in-flight engine on a folder: records in the order of the folder, and every 10 s of their time one
// evaluation.
class JobReplay {
 public:
  static constexpr Duration kStep = std::chrono::seconds{10};

  using OnFormat = std::function<void(const api::JobFormat&)>;
  using OnRecord = std::function<void(const jobs::Record&)>;
  // `now`: the time of the engine at which it reported the finding.
  using OnFinding = std::function<void(const jobs::JobFinding&, WallTime now)>;

  explicit JobReplay(jobs::EngineOptions options) : options_(options) {}
  OnFormat on_format = [](const api::JobFormat&) {};
  OnRecord on_record = [](const jobs::Record&) {};
  OnFinding on_finding = [](const jobs::JobFinding&, WallTime) {};
  // If the option collects_scores is set.
  std::function<void(std::vector<jobs::PeerScore>)> on_scores = [](const std::vector<jobs::PeerScore>&) {};
  jobs::SignalWeightsPtr weights;  // of the engine; null: the values that ship

  // Errors are those of JobFolder.
  [[nodiscard]] Result<ReplaySummary> run(const std::string& path, ProblemList& problems);

 private:
  void advance(jobs::Engine& engine, WallTime until);

  jobs::EngineOptions options_;
  WallTime now_{};
};

}  // namespace autopilot::cli
