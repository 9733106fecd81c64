// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "agent/open_journal.hpp"
#include "core/clock.hpp"
#include "net/event_loop.hpp"

namespace autopilot::agent {

// For an agent without a journal: opens it again and again, each time after a longer pause. One attempt at a
// time: a disk that hangs holds up one thread. On the loop's thread.
class JournalRetry {
 public:
  struct Pace {
    Duration first = std::chrono::seconds{5};
    Duration longest = std::chrono::minutes{5};
    Duration look = std::chrono::seconds{1};  // whether the attempt is over
  };
  // begin: starts an attempt. on_opened: once, with a writer.
  JournalRetry(net::EventLoop& loop, std::function<JournalOpening()> begin,
               std::function<void(OpenedJournal)> on_opened, Pace pace);
  JournalRetry(const JournalRetry&) = delete;
  JournalRetry& operator=(const JournalRetry&) = delete;
  ~JournalRetry() = default;

  void start();
  // Why the last attempt failed; empty: none did.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void look();
  void try_later();

  net::EventLoop& loop_;
  const std::function<JournalOpening()> begin_;
  const std::function<void(OpenedJournal)> on_opened_;
  const Pace pace_;
  Duration pause_;
  std::string problem_;
  std::optional<JournalOpening> attempt_;
  net::Subscription next_;
};

}  // namespace autopilot::agent
