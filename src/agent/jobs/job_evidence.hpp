// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/jobs/evidence_watch.hpp"
#include "api/job_batch.hpp"
#include "api/job_evidence.hpp"
#include "collect/evidence/capture.hpp"
#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/records.hpp"
#include "runtime/workers.hpp"

namespace autopilot::agent {

// Evidence about jobs that hang: captures it in a folder, and reads it for clients. A disk that does not
// answer blocks one worker, and with it all evidence, and nothing else.
class JobEvidence {
 public:
  static constexpr std::size_t kMostWaiting = 16;  // questions of clients
  static constexpr std::size_t kMostWindows = 6;   // of telemetry: the last minute
  static constexpr Duration kRetry = std::chrono::minutes(1);

  // folder: config::Config::jobs_dir, made if it is missing; the evidence is in its folder "evidence".
  // sources: without telemetry, which note() provides.
  JobEvidence(const std::string& folder, collect::EvidenceSources sources);

  // On one thread. Records of this node: the newest telemetry windows are part of the evidence.
  void note(const std::vector<jobs::Record>& records);
  // The same thread, while jobs are watched. Starts what is due, and logs what was captured.
  void look(const std::vector<api::SuspectedJob>& suspected, const collect::SeenJobs& seen, Instant now);

  // From any thread; `done` is called on a worker, or at once with exhausted: too many questions wait,
  // because the disk does not answer.
  void list(std::function<void(Result<api::EvidenceList> list)> done);
  // At most api::kMostEvidenceBytes from `offset`. not_found: no such evidence, or no such text in it.
  void read(std::string id, std::string file, std::size_t offset,
            std::function<void(Result<std::string> text)> done);

 private:
  struct Disk;  // of the worker
  struct Windows;

  void open(Instant now);
  void log_finished();
  template <class Done>
  void submit(std::function<void()> task, const Done& done);

  collect::EvidenceSources sources_;
  std::shared_ptr<Windows> windows_;
  std::shared_ptr<Disk> disk_;
  EvidenceWatch watch_;
  std::optional<MonoTime> tried_;  // to open the folder
  std::unique_ptr<collect::EvidenceCapture> capture_;
  runtime::Workers worker_{{.threads = 1, .max_stuck = 0, .max_queued = kMostWaiting}};
};

}  // namespace autopilot::agent
