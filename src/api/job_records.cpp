// SPDX-License-Identifier: Apache-2.0
#include "api/job_records.hpp"

#include <type_traits>
#include <utility>

#include "api/job_members.hpp"
#include "api/job_reader.hpp"
#include "api/job_writer.hpp"

namespace autopilot::api {
namespace job_format {
namespace {

constexpr std::string_view kFormatName = "autopilot-job-telemetry";

template <class T>
JobLine to_job_line(T record) {
  if constexpr (std::is_constructible_v<jobs::Record, T>)
    return jobs::Record(std::move(record));
  else
    return record;
}

// The value of a text or number member of the outermost object, which may be anywhere in it.
template <class Read>
bool find_member(std::string_view line, std::string_view wanted, std::string& problem, const Read& read) {
  JsonCursor json(line);
  std::string_view name;
  json.enter_object();
  while (json.next_member(name)) {
    if (name == wanted && read(json)) return true;
    if (name == wanted && json.has_failed()) problem = std::string(wanted) + ": " + json.problem();
    if (name == wanted) return false;
    json.skip_value();
  }
  problem = json.has_failed() ? json.problem() : std::string(wanted) + ": missing";
  return false;
}

template <class T>
Result<JobLine> parse_as(std::string_view line) {
  JobLineReader reader(line);
  T record{};
  const bool is_read = reader.read_line(record);
  if (!is_read) return fail(Errc::malformed, reader.problem());
  return to_job_line(std::move(record));
}

// A later version may have other members; its number is what the caller needs.
Result<JobLine> parse_format(std::string_view line) {
  JsonNumber version;
  std::string problem;
  const auto read = [&](JsonCursor& json) { return json.read_number(version); };
  const bool is_read = find_member(line, "version", problem, read);
  const auto number = is_read ? version.integer() : std::nullopt;
  if (number && *number > kJobFormatVersion) {
    JobFormat format;
    format.version = *number;
    return format;
  }
  auto parsed = TRY(parse_as<JobFormat>(line));
  if (std::get<JobFormat>(parsed).format != kFormatName)
    return fail(Errc::malformed, "format: expected " + std::string(kFormatName));
  return parsed;
}

std::string unknown_type(std::string_view type) {
  return "type: '" + std::string(type.substr(0, 64)) + "' is not a type of line";
}

std::string wrong_type(std::string_view type, JobFile file) {
  std::string text = unknown_type(type);
  for_each_line_type([&]<class T>(std::string_view known, JobFile home) {
    if (known == type)
      text = "type: a line of type " + std::string(type) + " belongs in " + std::string(file_name(home)) +
             ", not in " + std::string(file_name(file));
  });
  return text;
}

template <class T>
std::string write_line(const T& record) {
  std::string out;
  for_each_line_type([&]<class Known>(std::string_view type, JobFile) {
    if constexpr (std::is_same_v<T, Known>) {
      JobLineWriter writer(out);
      writer.begin(type);
      // The descriptions also serve the reader, which changes the record.
      members(writer, const_cast<T&>(record));
      writer.end();
    }
  });
  out += '\n';
  return out;
}

Result<std::string> type_of(std::string_view line) {
  std::string type;
  std::string problem;
  if (!find_member(line, "type", problem, [&](JsonCursor& json) { return json.read_text(type); }))
    return fail(Errc::malformed, problem);
  return type;
}

// A line of any file that holds what the engine reads.
Result<jobs::Record> parse_record(std::string_view line) {
  const std::string type = TRY(type_of(line));
  Result<jobs::Record> result = fail(Errc::malformed, unknown_type(type));
  for_each_line_type([&]<class T>(std::string_view known, JobFile) {
    if constexpr (std::is_constructible_v<jobs::Record, T>) {
      if (known != type) return;
      JobLineReader reader(line);
      T record{};
      if (reader.read_line(record))
        result = jobs::Record(std::move(record));
      else
        result = fail(Errc::malformed, reader.problem());
    }
  });
  return result;
}

Result<JobLine> parse_line(std::string_view line, JobFile file) {
  const std::string type = TRY(type_of(line));
  Result<JobLine> result = fail(Errc::malformed, "");
  bool is_known = false;
  for_each_line_type([&]<class T>(std::string_view known, JobFile home) {
    if (is_known || home != file || known != type) return;
    is_known = true;
    if constexpr (std::is_same_v<T, JobFormat>)
      result = parse_format(line);
    else
      result = parse_as<T>(line);
  });
  if (!is_known) return fail(Errc::malformed, wrong_type(type, file));
  return result;
}

}  // namespace
}  // namespace job_format

std::string_view file_name(JobFile file) {
  switch (file) {
    case JobFile::jobs:
      return "jobs.jsonl";
    case JobFile::events:
      return "events.jsonl";
    case JobFile::progress:
      return "progress.jsonl";
    case JobFile::telemetry:
      return "telemetry.jsonl";
    case JobFile::labels:
      return "labels.jsonl";
  }
  return {};
}

std::size_t longest_line(JobFile file) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return file == JobFile::jobs ? 16 * mebibyte : mebibyte;
}

Result<JobLine> parse_job_line(std::string_view line, JobFile file) {
  if (line.size() > longest_line(file))
    return fail(Errc::malformed, "longer than " + std::to_string(longest_line(file)) + " bytes");
  return job_format::parse_line(line, file);
}

Result<jobs::Record> parse_job_record(std::string_view line) {
  if (line.size() > kLongestRecord)
    return fail(Errc::malformed, "longer than " + std::to_string(kLongestRecord) + " bytes");
  return job_format::parse_record(line);
}

std::string to_line(const JobFormat& format) {
  return job_format::write_line(format);
}

std::string to_line(const jobs::Record& record) {
  return std::visit([](const auto& held) { return job_format::write_line(held); }, record);
}

std::string to_line(const jobs::FaultLabel& label) {
  return job_format::write_line(label);
}

std::string to_line(const jobs::ConfounderLabel& label) {
  return job_format::write_line(label);
}

std::string to_line(const LabelledTime& label) {
  return job_format::write_line(label);
}

std::string to_line(const JobLine& line) {
  return std::visit([](const auto& held) { return to_line(held); }, line);
}

JobFile file_of(const jobs::Record& record) {
  JobFile file = JobFile::jobs;
  std::visit(
      [&file]<class T>(const T&) {
        job_format::for_each_line_type([&file]<class Known>(std::string_view, JobFile home) {
          if constexpr (std::is_same_v<T, Known>) file = home;
        });
      },
      record);
  return file;
}

}  // namespace autopilot::api
