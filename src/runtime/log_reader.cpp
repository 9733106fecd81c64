// SPDX-License-Identifier: Apache-2.0
#include "runtime/log_reader.hpp"

#include <algorithm>
#include <utility>

#include "runtime/runtime_events.hpp"

namespace autopilot::runtime {

Observations LogReader::news_in(const Observations& round) const {
  Observations news;
  for (const Observation& record : round)
    if (record.sequence && *record.sequence >= journaled_) news.push_back(record);
  return news;
}

bool LogReader::take(const std::string& check, const checks::Observed& round, const Observations& news,
                     const std::function<void(Event)>& tell) {
  if (!round.kernel_log_next) return false;
  parts_ = round.kernel_log_parts;
  next_ = *round.kernel_log_next;
  lost_ += round.records_lost;
  const std::size_t told = std::min(news.size(), kMaxToldPerMinute - told_);
  for (std::size_t i = 0; i < told; ++i)
    tell(kernel_event(check, news[i]));
  told_ += told;
  untold_ += news.size() - told;
  if (next_ <= journaled_) return false;
  journaled_ = next_;
  return true;
}

void LogReader::end_minute(const std::string& check, const std::function<void(Event)>& tell) {
  told_ = 0;
  if (const std::size_t untold = std::exchange(untold_, 0); untold > 0)
    tell(further_records_event(check, untold));
}

}  // namespace autopilot::runtime
