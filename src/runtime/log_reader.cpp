// SPDX-License-Identifier: Apache-2.0
#include "runtime/log_reader.hpp"

#include <algorithm>
#include <utility>

#include "runtime/record_counts.hpp"
#include "runtime/runtime_events.hpp"

namespace autopilot::runtime {

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

}  // namespace autopilot::runtime
