// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "api/job_records.hpp"
#include "cli/recording/scrub_job.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// Writes a folder of docs/reference/job-telemetry.md, line by line.
class JobRecording {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

  // Makes the folder, which must be new or empty, and the first line of jobs.jsonl. `is_scrubbed`: lines are
  // written without names and addresses. Errors: as host::OwnFolder::create.
  [[nodiscard]] static Result<JobRecording> create(const std::string& directory, const api::JobFormat& format,
                                                   bool is_scrubbed = false);
  // One line, with or without its line end, that goes to the file of its type. malformed: not a record.
  // exhausted: the folder has kMostBytes. unavailable: the disk is full or failed.
  [[nodiscard]] Status add(std::string_view line);

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // The job whose end was the last record; empty: it was another record.
  [[nodiscard]] const std::string& ended() const { return ended_; }
  // nullopt: not scrubbed.
  [[nodiscard]] std::optional<ScrubCounts> scrubbed() const {
    return scrubber_ ? std::optional(scrubber_->counts()) : std::nullopt;
  }

 private:
  explicit JobRecording(std::string directory) : directory_(std::move(directory)) {}
  [[nodiscard]] Status write(api::JobFile file, std::string_view line);

  std::string directory_;
  std::map<api::JobFile, std::ofstream> files_;
  std::optional<JobScrubber> scrubber_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  std::string ended_;
};

struct JobRecordingOptions {
  std::string directory;
  std::string job;  // key or name
  std::optional<Duration> length;
  std::string socket;
  bool scrub = false;
};

// Follows the agent's records of a job until Ctrl-C, the end of the job, or the length is over. Returns the
// exit code.
[[nodiscard]] int record_job(const JobRecordingOptions& options);

}  // namespace autopilot::cli
