// SPDX-License-Identifier: Apache-2.0
#include "agent/job_backlog.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "api/job_records.hpp"

namespace autopilot::agent {

JobBacklog::JobBacklog(std::string node, std::string instance, Limits limits)
    : node_(std::move(node)), instance_(std::move(instance)), limits_(limits) {}

JobBacklog::Kind JobBacklog::kind_of(const jobs::Record& record) {
  switch (api::file_of(record)) {
    case api::JobFile::telemetry:
      return window;
    case api::JobFile::progress:
      return progress;
    default:
      return other;
  }
}

void JobBacklog::add(const jobs::Record& record, MonoTime now) {
  ++records_;
  std::string text = api::to_line(record);
  if (text.size() > api::kLongestRecord + 1) {
    ++dropped_;
    return;
  }
  note_state(record, text);
  bytes_ += text.size();
  lines_.at(kind_of(record)).push_back({++ordinal_, now, std::move(text)});
  drop_old(now);
  make_room();
}

void JobBacklog::note_state(const jobs::Record& record, const std::string& text) {
  if (std::holds_alternative<jobs::NodeRecord>(record)) node_line_ = text;
  if (const auto* end = std::get_if<jobs::JobEndRecord>(&record)) {
    const auto found = job_lines_.find(end->job);
    if (found == job_lines_.end()) return;
    job_bytes_ -= found->second.size();
    job_lines_.erase(found);
  }
  const auto* job = std::get_if<jobs::JobRecord>(&record);
  if (job == nullptr) return;
  const auto known = job_lines_.find(job->job);
  const std::size_t before = known == job_lines_.end() ? 0 : known->second.size();
  const bool has_room = known != job_lines_.end() || job_lines_.size() < limits_.jobs;
  if (!has_room || job_bytes_ - before + text.size() > limits_.job_bytes) {
    ++dropped_;
    return;
  }
  job_bytes_ += text.size() - before;
  job_lines_.insert_or_assign(job->job, text);
}

void JobBacklog::drop_oldest(Lines& lines) {
  bytes_ -= lines.front().text.size();
  lines.pop_front();
  ++dropped_;
}

void JobBacklog::drop_old(MonoTime now) {
  for (const Kind kind : {window, progress})
    for (Lines& lines = lines_.at(kind); !lines.empty() && now - lines.front().added > limits_.age;)
      drop_oldest(lines);
}

void JobBacklog::make_room() {
  for (Lines& lines : lines_)
    while (bytes_ > limits_.bytes && !lines.empty())
      drop_oldest(lines);
}

// Fixes which lines are in the next batch: the oldest, at least one.
void JobBacklog::choose() {
  std::array<std::size_t, kKinds> next{};
  std::size_t bytes = 0;
  while (true) {
    const Line* oldest = nullptr;
    std::size_t kind = 0;
    for (std::size_t each = 0; each < kKinds; ++each) {
      if (next.at(each) == lines_.at(each).size()) continue;
      const Line& line = lines_.at(each)[next.at(each)];
      if (oldest != nullptr && oldest->ordinal < line.ordinal) continue;
      oldest = &line;
      kind = each;
    }
    if (oldest == nullptr || (bytes > 0 && bytes + oldest->text.size() > limits_.batch_bytes)) return;
    bytes += oldest->text.size();
    last_ = oldest->ordinal;
    ++next.at(kind);
  }
}

std::string JobBacklog::body(Instant now) const {
  std::vector<const Line*> chosen;
  for (const Lines& lines : lines_)
    for (const Line& line : lines)
      if (line.ordinal <= *last_) chosen.push_back(&line);
  std::ranges::sort(chosen, {}, [](const Line* line) { return line->ordinal; });
  std::string body = to_line(api::JobBatch{node_, instance_, sequence_, now.wall, is_whole_, dropped_});
  if (is_whole_) {
    body += node_line_;
    for (const auto& [job, text] : job_lines_)
      body += text;
  }
  for (const Line* line : chosen)
    body += line->text;
  return body;
}

std::optional<std::string> JobBacklog::next(Instant now) {
  drop_old(now.mono);
  if (!last_) choose();
  if (!last_) return std::nullopt;
  return body(now);
}

void JobBacklog::end_batch() {
  for (Lines& lines : lines_)
    while (!lines.empty() && lines.front().ordinal <= *last_) {
      bytes_ -= lines.front().text.size();
      lines.pop_front();
    }
  last_.reset();
  ++sequence_;
}

void JobBacklog::take(const api::JobBatchAnswer& answer) {
  if (!last_) return;
  if (answer.taken >= sequence_) {
    end_batch();
    is_whole_ = false;
  }
  if (answer.wants_whole) is_whole_ = true;
}

void JobBacklog::give_up() {
  if (!last_) return;
  for (const Lines& lines : lines_)
    dropped_ += static_cast<std::uint64_t>(
        std::ranges::count_if(lines, [&](const Line& line) { return line.ordinal <= *last_; }));
  end_batch();
  is_whole_ = true;  // the jobs were in it, perhaps
}

bool JobBacklog::is_due() const {
  return last_.has_value() || bytes_ >= limits_.batch_bytes;
}

}  // namespace autopilot::agent
