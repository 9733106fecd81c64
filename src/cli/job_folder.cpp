// SPDX-License-Identifier: Apache-2.0
#include "cli/job_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "cli/job_lines.hpp"

namespace autopilot::cli {
namespace {

namespace fs = std::filesystem;

Status check_folder(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return fail(Errc::not_found, "no folder " + path);
  if (!fs::is_directory(status))
    return fail(Errc::not_found, path + " is not a folder; name the folder that contains jobs.jsonl");
  return {};
}

}  // namespace

// One file, and its next record.
class JobFolder::Source {
 public:
  explicit Source(JobLines file) : lines(std::move(file)) {}

  JobLines lines;
  std::optional<jobs::Record> next;
  std::optional<WallTime> highest;  // time of its lines, with `next`
};

JobFolder::JobFolder(LineProblems problems) : problems_(std::move(problems)) {}
JobFolder::JobFolder(JobFolder&&) noexcept = default;
JobFolder& JobFolder::operator=(JobFolder&&) noexcept = default;
JobFolder::~JobFolder() = default;

Result<JobFolder> JobFolder::open(const std::string& path, LineProblems problems) {
  TRY_STATUS(check_folder(path));
  JobFolder folder(std::move(problems));
  for (const api::JobFile file : api::kJobFiles) {
    if (file == api::JobFile::labels) continue;
    auto lines = TRY(JobLines::open(path, file));
    if (!lines && file == api::JobFile::jobs)
      return fail(Errc::not_found, path + " has no jobs.jsonl; docs/reference/job-telemetry.md describes it");
    if (!lines) continue;
    folder.sources_.push_back(std::make_unique<Source>(std::move(*lines)));
    if (file == api::JobFile::jobs) TRY_STATUS(folder.read_format(*folder.sources_.back()));
    TRY_STATUS(folder.fill(*folder.sources_.back()));
  }
  return folder;
}

Status JobFolder::read_format(Source& source) {
  auto first = TRY(source.lines.next());
  if (!first) return fail(Errc::malformed, "jobs.jsonl is empty; its first line names the format");
  if (!first->parsed) return fail(first->parsed.error());
  const auto* format = std::get_if<api::JobFormat>(&*first->parsed);
  if (format == nullptr)
    return fail(Errc::malformed, source.lines.place() + "the first line must be of type format");
  if (format->version != api::kJobFormatVersion)
    return fail(Errc::unsupported, source.lines.place() + "version " + std::to_string(format->version) +
                                       " of the format; this program reads version 1. Update autopilot, or "
                                       "write the folder in version 1");
  format_ = *format;
  return {};
}

// Reads the next valid record of the file.
Status JobFolder::fill(Source& source) {
  source.next.reset();
  while (auto line = TRY(source.lines.next())) {
    if (!line->parsed) {
      problems_(line->parsed.error().what);
      continue;
    }
    auto* record = std::get_if<jobs::Record>(&*line->parsed);
    if (record == nullptr) {
      problems_(source.lines.place() + "type: format belongs in the first line only");
      continue;
    }
    const WallTime time = jobs::time_of(*record);
    const auto before = source.highest ? source.highest : start_;
    if (before && (time > *before + kFurthest || time < *before - kFurthest)) {
      problems_(source.lines.place() + "t: more than 31 days from the line before");
      continue;
    }
    if (!start_) start_ = time;
    source.highest = std::max(source.highest.value_or(time), time);
    source.next = std::move(*record);
    return {};
  }
  return {};
}

Result<std::optional<FolderRecord>> JobFolder::next() {
  Source* first = nullptr;
  for (const auto& source : sources_)
    if (source->next && (first == nullptr || *source->highest < *first->highest)) first = source.get();
  if (first == nullptr) return std::nullopt;
  FolderRecord found{std::move(*first->next), *first->highest};
  TRY_STATUS(fill(*first));
  return std::optional(std::move(found));
}

std::uint64_t JobFolder::lines() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources_)
    sum += source->lines.lines();
  return sum;
}

std::uint64_t JobFolder::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources_)
    sum += source->lines.bytes();
  return sum;
}

Result<jobs::Labels> read_labels(const std::string& path, const LineProblems& problems) {
  TRY_STATUS(check_folder(path));
  auto lines = TRY(JobLines::open(path, api::JobFile::labels));
  if (!lines)
    return fail(Errc::not_found, path +
                                     " has no labels.jsonl; score compares findings with labels. Without "
                                     "labels, use: autopilot jobs replay " +
                                     path);
  jobs::Labels labels;
  while (auto line = TRY(lines->next())) {
    if (!line->parsed) {
      problems(line->parsed.error().what);
      continue;
    }
    if (labels.faults.size() + labels.confounders.size() == kMaxLabels)
      return fail(Errc::exhausted,
                  path + "/labels.jsonl has more than " + std::to_string(kMaxLabels) + " labels");
    if (auto* fault = std::get_if<jobs::FaultLabel>(&*line->parsed)) {
      labels.faults.push_back(std::move(*fault));
    } else if (auto* confounder = std::get_if<jobs::ConfounderLabel>(&*line->parsed)) {
      labels.confounders.push_back(std::move(*confounder));
    } else if (const auto* time = std::get_if<api::LabelledTime>(&*line->parsed)) {
      labels.begin = std::min(labels.begin.value_or(time->begin), time->begin);
      labels.end = std::max(labels.end.value_or(time->end), time->end);
    }
  }
  return labels;
}

}  // namespace autopilot::cli
