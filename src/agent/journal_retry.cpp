// SPDX-License-Identifier: Apache-2.0
#include "agent/journal_retry.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::agent {

JournalRetry::JournalRetry(net::EventLoop& loop, std::function<JournalOpening()> begin,
                           std::function<void(OpenedJournal)> on_opened, Pace pace)
    : loop_(loop),
      begin_(std::move(begin)),
      on_opened_(std::move(on_opened)),
      pace_(pace),
      pause_(pace.first) {}

void JournalRetry::start() {
  try_later();
}

void JournalRetry::try_later() {
  next_ = loop_.after(pause_, [this] {
    attempt_.emplace(begin_());
    look();
  });
  pause_ = std::min(2 * pause_, pace_.longest);
}

void JournalRetry::look() {
  auto opened = attempt_->take(Duration{0});
  if (!opened) {
    next_ = loop_.after(pace_.look, [this] { look(); });
    return;
  }
  attempt_.reset();
  problem_ = opened->problem;
  if (!opened->writer) return try_later();
  on_opened_(std::move(*opened));
}

}  // namespace autopilot::agent
