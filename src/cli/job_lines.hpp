// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_records.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// The lines of one file of a folder of job telemetry. Holds one line.
class JobLines {
 public:
  // `folder` is an existing folder. nullopt: it has no such file. malformed: the file is compressed, or no
  // file.
  [[nodiscard]] static Result<std::optional<JobLines>> open(const std::string& folder, api::JobFile file);

  // The next line that is not empty; nullopt at the end. unavailable: the file cannot be read any further.
  // The problem of a malformed line is its value: it begins with the place, "jobs.jsonl:7: ".
  struct Line {
    Result<api::JobLine> parsed;
  };
  [[nodiscard]] Result<std::optional<Line>> next();

  // "jobs.jsonl:7: " of the line that next() returned.
  [[nodiscard]] std::string place() const;
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  JobLines(const std::string& path, api::JobFile file);
  [[nodiscard]] Line parse(std::string_view line, bool is_truncated) const;
  Line skip_long_line();

  std::string path_;
  api::JobFile file_;
  std::ifstream in_;
  std::vector<char> buffer_;
  std::uint64_t number_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace autopilot::cli
