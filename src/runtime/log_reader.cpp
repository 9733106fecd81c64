// SPDX-License-Identifier: Apache-2.0
#include "runtime/log_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/parse.hpp"
#include "runtime/event_log.hpp"

namespace autopilot::runtime {

void RecordCounts::add(std::string_view check, const Observations& records) {
  for (const Observation& record : records) {
    RecordKind kind{std::string(check), record.name, record.value ? to_string(*record.value) : "",
                    record.subject};
    if (counts_.size() >= kMaxKinds && !counts_.contains(kind))
      kind = {std::string(check), "other", "", host_subject()};
    counts_[kind] += static_cast<std::uint64_t>(checks::event_count(record));
  }
}

std::vector<RecordCount> RecordCounts::counts() const {
  std::vector<RecordCount> list;
  list.reserve(counts_.size());
  for (const auto& [kind, count] : counts_)
    list.push_back({kind, count});
  return list;
}

Observations LogReader::news_in(const Observations& observations) const {
  Observations news;
  for (const Observation& record : observations)
    if (record.sequence && *record.sequence >= journaled_) news.push_back(record);
  return news;
}

void LogReader::take(const std::string& check, const checks::Observed& observed, const Observations& news,
                     const std::function<void(Event)>& report) {
  if (!observed.kernel_log_next) return;
  parts_ = observed.kernel_log_parts;
  next_ = *observed.kernel_log_next;
  const std::size_t reported = std::min(news.size(), kMaxReportedPerMinute - reported_);
  for (std::size_t i = 0; i < reported; ++i)
    report(kernel_event(check, news[i]));
  reported_ += reported;
  for (std::size_t i = reported; i < news.size(); ++i)
    unreported_ += static_cast<std::size_t>(checks::event_count(news[i]));
  if (next_ <= journaled_) return;
  journaled_ = next_;
  moved_ = true;
}

void LogReader::end_minute(const std::string& check, const std::function<void(Event)>& report) {
  reported_ = 0;
  const std::size_t unreported = std::exchange(unreported_, 0);
  if (unreported == 0) return;
  report(further_records_event(check, unreported));
  moved_ = true;
}

// "<boot id> <address>=<nanoseconds> ..."
ProvenResets::ProvenResets(std::string boot_id, std::string_view journaled) : boot_id_(std::move(boot_id)) {
  if (!journaled.starts_with(boot_id_ + " ")) return;
  journaled.remove_prefix(boot_id_.size() + 1);
  while (!journaled.empty()) {
    const auto end = std::min(journaled.find(' '), journaled.size());
    const std::string_view word = journaled.substr(0, end);
    const auto equals = std::min(word.find('='), word.size());
    const auto time = parse_number<std::int64_t>(word.substr(std::min(equals + 1, word.size())));
    if (time && equals > 0) times_[std::string(word.substr(0, equals))] = MonoTime{Duration{*time}};
    journaled.remove_prefix(std::min(end + 1, journaled.size()));
  }
}

std::string ProvenResets::to_text() const {
  std::string text = boot_id_;
  for (const auto& [address, time] : times_)
    text.append(" ").append(address).append("=").append(std::to_string(time.time_since_epoch().count()));
  return text;
}

Observations ProvenResets::events(Instant now) const {
  Observations events;
  for (const auto& [address, time] : times_) {
    Subject gpu;
    gpu.kind = SubjectKind::gpu;
    gpu.key = address;
    events.push_back(checks::seen_reset(gpu, {now.wall - (now.mono - time), time}));
  }
  return events;
}

}  // namespace autopilot::runtime
