// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job_records.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/labels.hpp"
#include "jobs/records.hpp"

namespace autopilot::cli {

// Receives one text for each line that is left out: "telemetry.jsonl:12: gpu.power_w[3]: -1 is below 0".
using LineProblems = std::function<void(const std::string&)>;

// A record, and the time that the folder has reached with it: it never falls from one record to the next,
// while the time of the record itself may be up to 60 s earlier.
struct FolderRecord {
  jobs::Record record;
  WallTime reached{};
};

// A folder of docs/reference/job-telemetry.md. Streams its files, merged by time; holds one line of each.
class JobFolder {
 public:
  // A line that is further than this from the time before is malformed: it would let years pass.
  static constexpr Duration kFurthest = std::chrono::hours{24 * 31};

  // not_found: no such folder, or no jobs.jsonl. unsupported: another version. malformed: the first line is
  // not the format, or a file is compressed.
  [[nodiscard]] static Result<JobFolder> open(const std::string& path, LineProblems problems);
  JobFolder(JobFolder&&) noexcept;
  JobFolder& operator=(JobFolder&&) noexcept;
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder();

  // nullopt at the end. unavailable: a file cannot be read any further.
  [[nodiscard]] Result<std::optional<FolderRecord>> next();

  [[nodiscard]] const api::JobFormat& format() const { return format_; }
  // Of all files so far, without empty lines.
  [[nodiscard]] std::uint64_t lines() const;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  class Source;
  explicit JobFolder(LineProblems problems);
  Status fill(Source& source);
  Status read_format(Source& source);

  LineProblems problems_;
  std::vector<std::unique_ptr<Source>> sources_;
  api::JobFormat format_;
  std::optional<WallTime> start_;  // time of the first record of jobs.jsonl
};

// More faults and confounders than this are Errc::exhausted.
inline constexpr std::size_t kMaxLabels = 100'000;

// labels.jsonl of the folder. not_found: there is none.
[[nodiscard]] Result<jobs::Labels> read_labels(const std::string& path, const LineProblems& problems);

}  // namespace autopilot::cli
