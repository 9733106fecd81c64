// SPDX-License-Identifier: Apache-2.0
#include "agent/journal_shown.hpp"

#include <tuple>

#include "core/clock.hpp"
#include "runtime/event_log.hpp"

namespace autopilot::agent {

void show_journal(const store::WriterStatus& journal, SelfStatus& self) {
  const bool is_late = journal.lag >= runtime::EventLog::kPatience;
  self.journal_lag_seconds = is_late ? to_seconds(journal.lag) : 0;
  self.journal_dropped = journal.dropped;
  self.journal_durable = !is_late && journal.problem.empty();
  if (!journal.problem.empty()) self.journal_problem = journal.problem;
}

bool is_journal_news(const SelfStatus& shown, const SelfStatus& now) {
  const auto words = [](const SelfStatus& self) {
    return std::tie(self.journal_lag_seconds, self.journal_durable, self.journal_problem,
                    self.journal_dropped);
  };
  return words(shown) != words(now);
}

}  // namespace autopilot::agent
