// SPDX-License-Identifier: Apache-2.0
#include "runtime/log_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "checks/kernel_log/record_effects.hpp"
#include "core/parse.hpp"
#include "runtime/event_log.hpp"

namespace autopilot::runtime {

std::uint64_t times_told(const Observation& record) {
  const Value* count = find_attribute(record.attributes, "count");
  const auto number = count == nullptr ? std::nullopt : as_number(*count);
  return number && *number >= 1 ? static_cast<std::uint64_t>(*number) : 1;
}

void RecordCounts::add(std::string_view check, const Observations& records) {
  for (const Observation& record : records) {
    RecordKind kind{std::string(check), record.name, record.value ? to_string(*record.value) : "",
                    record.subject};
    if (counts_.size() >= kMaxKinds && !counts_.contains(kind))
      kind = {std::string(check), "other", "", host_subject()};
    counts_[kind] += times_told(record);
  }
}

std::vector<RecordCount> RecordCounts::counts() const {
  std::vector<RecordCount> list;
  list.reserve(counts_.size());
  for (const auto& [kind, count] : counts_)
    list.push_back({kind, count});
  return list;
}

Observations LogReader::news_in(const Observations& round) const {
  Observations news;
  for (const Observation& record : round)
    if (record.sequence && *record.sequence >= journaled_) news.push_back(record);
  return news;
}

void LogReader::take(const std::string& check, const checks::Observed& round, const Observations& news,
                     const std::function<void(Event)>& tell) {
  if (!round.kernel_log_next) return;
  parts_ = round.kernel_log_parts;
  next_ = *round.kernel_log_next;
  const std::size_t told = std::min(news.size(), kMaxToldPerMinute - told_);
  for (std::size_t i = 0; i < told; ++i)
    tell(kernel_event(check, news[i]));
  told_ += told;
  for (std::size_t i = told; i < news.size(); ++i)
    untold_ += times_told(news[i]);
  if (next_ <= journaled_) return;
  journaled_ = next_;
  moved_ = true;
}

void LogReader::end_minute(const std::string& check, const std::function<void(Event)>& tell) {
  told_ = 0;
  const std::size_t untold = std::exchange(untold_, 0);
  if (untold == 0) return;
  tell(further_records_event(check, untold));
  moved_ = true;
}

// "<boot id> <address>=<nanoseconds> ..."
SeenResets::SeenResets(std::string boot_id, std::string_view journaled) : boot_id_(std::move(boot_id)) {
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

std::string SeenResets::to_text() const {
  std::string text = boot_id_;
  for (const auto& [address, time] : times_)
    text.append(" ").append(address).append("=").append(std::to_string(time.time_since_epoch().count()));
  return text;
}

Observations SeenResets::events(Instant now) const {
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
