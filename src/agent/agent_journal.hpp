// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/journal_retry.hpp"
#include "agent/open_journal.hpp"
#include "net/event_loop.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// The journal of a running agent: it is used, watched, replaced where it breaks, and opened later where the
// start had none. Logs and events state each change once. On the loop's thread.
class AgentJournal {
 public:
  // Everything outlives it.
  struct Context {
    net::EventLoop& loop;
    runtime::Runtime& runtime;
    std::function<JournalOpening()> open_again;
    // A journal that the start could not read: what it remembers is older than what this run found.
    std::function<void(OpenedJournal& older)> on_read_late;
    std::function<void()> poll_soon;
  };
  // Takes the writer of `journal`. The runtime need not exist yet.
  AgentJournal(OpenedJournal& journal, Context context);

  // Writes to the journal; not set: there is none.
  [[nodiscard]] runtime::Ledger::Commit commit();
  // Begins to watch it, and to open it where there is none.
  void start();
  // States what changed since the last call.
  void note();
  // Writes its status into the node's own state.
  void complete(SelfStatus& self) const;
  // to: new name of the unusable file; empty: the file was gone.
  void tell_moved_aside(const std::string& to);
  // Waits for the last entries.
  void stop(Duration patience);

 private:
  [[nodiscard]] std::string why_lost() const;
  void note_replaced();
  void note_lost_or_back();
  void refresh_shown();
  void take(OpenedJournal opened);

  Context context_;
  std::unique_ptr<store::JournalWriter> writer_;
  std::string problem_;  // why there is no writer
  bool was_read_;        // what an earlier run knew came from it
  bool is_lost_ = false;
  std::uint64_t moved_aside_ = 0;
  std::optional<JournalRetry> retry_;
  net::Subscription watch_;
};

}  // namespace autopilot::agent
