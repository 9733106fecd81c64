// SPDX-License-Identifier: Apache-2.0
#include "postflight/ended_job.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::postflight {
namespace {

constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kFields = 5;

std::string field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string time_field(WallTime time) {
  return std::to_string(time.time_since_epoch().count());
}

std::string line_of(const EndedJob& job) {
  std::string line = field(job.job) + "\t" + field(job.name) + "\t" + time_field(job.start) + "\t" +
                     time_field(job.end) + "\t";
  for (std::size_t at = 0; at < std::min(job.gpus.size(), kMostGpus); ++at)
    line += (at == 0 ? "" : ",") + std::to_string(job.gpus[at]);
  return line + "\n";
}

// Cuts the text up to `end` off `rest`.
std::string_view cut(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

Error malformed_line(std::string_view line) {
  return {Errc::malformed,
          "journal value validation.open: unexpected line '" + to_printable(line, 100) + "'"};
}

Result<WallTime> parse_nanoseconds(std::string_view text, std::string_view line) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number) return fail(malformed_line(line));
  return WallTime(Duration(*number));
}

Result<EndedJob> parse_line(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  if (std::ranges::count(line, '\t') != static_cast<std::ptrdiff_t>(kFields) - 1)
    return fail(malformed_line(line));
  std::string_view rest = line;
  for (std::string_view& each : fields)
    each = cut(rest, '\t');
  EndedJob job{
      .job = std::string(fields[0]), .name = std::string(fields[1]), .start = {}, .end = {}, .gpus = {}};
  if (job.job.empty()) return fail(malformed_line(line));
  job.start = TRY(parse_nanoseconds(fields[2], line));
  job.end = TRY(parse_nanoseconds(fields[3], line));
  for (std::string_view gpus = fields[4]; !gpus.empty();) {
    const auto gpu = parse_number<int>(cut(gpus, ','));
    if (!gpu || *gpu < 0 || job.gpus.size() >= kMostGpus) return fail(malformed_line(line));
    job.gpus.push_back(*gpu);
  }
  return job;
}

}  // namespace

std::string to_text(std::span<const EndedJob> jobs) {
  std::string text;
  for (const EndedJob& job : jobs.first(std::min(jobs.size(), kMostOpenJobs))) {
    const std::string line = line_of(job);
    if (text.size() + line.size() > kMostOpenBytes) break;
    text += line;
  }
  return text;
}

Result<std::vector<EndedJob>> parse_open_jobs(std::string_view text) {
  std::vector<EndedJob> jobs;
  while (!text.empty()) {
    if (jobs.size() >= kMostOpenJobs)
      return fail(Errc::malformed,
                  "journal value validation.open: more than " + std::to_string(kMostOpenJobs) + " lines");
    jobs.push_back(TRY(parse_line(cut(text, '\n'))));
  }
  return jobs;
}

}  // namespace autopilot::postflight
