// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/labels.hpp"
#include "jobs/records.hpp"

// The lines of docs/reference/job-telemetry.md. Pure.
namespace autopilot::api {

// In the order in which lines of equal time are read.
enum class JobFile : std::uint8_t { jobs, events, progress, telemetry, labels };
inline constexpr std::array kJobFiles{JobFile::jobs, JobFile::events, JobFile::progress, JobFile::telemetry,
                                      JobFile::labels};
// "jobs.jsonl"
[[nodiscard]] std::string_view file_name(JobFile file);
// Bytes without the line end: 16 MiB in jobs.jsonl (65,536 ranks), 1 MiB in the others.
[[nodiscard]] std::size_t longest_line(JobFile file);

inline constexpr int kJobFormatVersion = 1;

// The first line of jobs.jsonl.
struct JobFormat {
  WallTime time{};
  std::string format;
  std::int64_t version = 0;  // any; only 1 has been validated further
  bool is_simulated = false;
  std::string source;
  std::optional<std::int64_t> seed;
};

// The time that is labelled as a whole.
struct LabelledTime {
  WallTime begin{};
  WallTime end{};
};

using JobLine = std::variant<JobFormat, jobs::Record, jobs::FaultLabel, jobs::ConfounderLabel, LabelledTime>;

// Parses one line, without its line end, of that file. malformed: the text names the member's path and the
// problem, such as "gpu.power_w[3]: -1 is below 0".
[[nodiscard]] Result<JobLine> parse_job_line(std::string_view line, JobFile file);

// Bytes of a line in a batch, without the line end.
inline constexpr std::size_t kLongestRecord = std::size_t{1} << 20;
// The same for a line of a batch (job_batch.hpp), where lines of all files but labels.jsonl follow each
// other, without a line of type `format`.
[[nodiscard]] Result<jobs::Record> parse_job_record(std::string_view line);

// One line with its line end, which parse_job_line accepts if the record is within the limits of the format.
// What is unknown is left out. A value that is not finite is written as missing.
[[nodiscard]] std::string to_line(const JobFormat& format);
[[nodiscard]] std::string to_line(const jobs::Record& record);
[[nodiscard]] std::string to_line(const jobs::FaultLabel& label);
[[nodiscard]] std::string to_line(const jobs::ConfounderLabel& label);
[[nodiscard]] std::string to_line(const LabelledTime& label);
[[nodiscard]] std::string to_line(const JobLine& line);
// The file that holds such lines.
[[nodiscard]] JobFile file_of(const jobs::Record& record);

// JSON schema (draft 2020-12) of all lines: docs/reference/job-telemetry.schema.json.
[[nodiscard]] std::string job_telemetry_schema();

}  // namespace autopilot::api
