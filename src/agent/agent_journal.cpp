// SPDX-License-Identifier: Apache-2.0
#include "agent/agent_journal.hpp"

#include <chrono>
#include <utility>

#include "agent/journal_shown.hpp"
#include "logging/log.hpp"

namespace autopilot::agent {
namespace {

using logging::log_info;
using logging::log_warning;

// A journal that is later than this with its entries counts as lost.
constexpr Duration kJournalIsLost = std::chrono::seconds{15};
constexpr Duration kLookAtJournal = std::chrono::seconds{1};

}  // namespace

AgentJournal::AgentJournal(OpenedJournal& journal, Context context)
    : context_(std::move(context)),
      writer_(std::move(journal.writer)),
      problem_(std::move(journal.problem)),
      was_read_(journal.is_read) {}

runtime::Ledger::Commit AgentJournal::commit() {
  if (!writer_) return {};
  return [this](store::Batch batch, std::function<void(bool)> done) {
    writer_->submit(std::move(batch),
                    [done = std::move(done)](const auto& committed) { done(committed.has_value()); });
  };
}

void AgentJournal::start() {
  watch_ = context_.loop.every(kLookAtJournal, [this] { refresh_shown(); });
  if (writer_) return;
  retry_.emplace(
      context_.loop, context_.open_again,
      [this](OpenedJournal opened) {
        context_.loop.post([this, opened = std::make_shared<OpenedJournal>(std::move(opened))] {
          take(std::move(*opened));
        });
      },
      JournalRetry::Pace{});
  retry_->start();
}

void AgentJournal::note() {
  note_replaced();
  note_lost_or_back();
}

void AgentJournal::complete(SelfStatus& self) const {
  self.journal_problem = problem_;
  self.journal_durable = writer_ != nullptr;
  if (writer_) show_journal(writer_->status(), self);
}

void AgentJournal::tell_moved_aside(const std::string& to) {
  Event moved;
  moved.kind = EventKind::journal_moved_aside;
  moved.message = to.empty() ? "the journal was gone" : "the journal could not be used; it is kept as " + to;
  log_warning(moved.message + "; a new one begins");
  (void)context_.runtime.tell(std::move(moved));
}

void AgentJournal::stop(Duration patience) {
  if (writer_ && !writer_->stop(patience)) log_warning("the journal did not take the last entries in time");
}

// Empty: it is in use.
std::string AgentJournal::why_lost() const {
  if (!writer_) return problem_;
  const auto status = writer_->status();
  if (!status.problem.empty() || status.lag < kJournalIsLost) return status.problem;
  return "its disk does not answer";
}

// The writer replaces a journal that breaks by an empty one.
void AgentJournal::note_replaced() {
  if (!writer_) return;
  const auto status = writer_->status();
  if (std::exchange(moved_aside_, status.moved_aside) == status.moved_aside) return;
  tell_moved_aside(status.last_moved_aside);
  context_.runtime.journal_all_again();
}

// What the agent knows is written whole once the journal is back.
void AgentJournal::note_lost_or_back() {
  const std::string why = why_lost();
  if (std::exchange(is_lost_, !why.empty()) == is_lost_) return;
  if (is_lost_) {
    log_warning("the journal is lost: what is found now does not survive this process", {{"cause", why}});
    return;
  }
  log_info("the journal is back", {{"dropped", std::to_string(writer_->status().dropped)}});
  context_.runtime.journal_all_again();
}

// What is shown of the journal changes without any news of the machine.
void AgentJournal::refresh_shown() {
  const auto shown = context_.runtime.snapshot();
  SelfStatus now = shown->self;
  complete(now);
  if (!is_journal_news(shown->self, now)) return;
  context_.runtime.update_self([](SelfStatus&) {});
  context_.poll_soon();
}

// Restores holds of the journal that could not be read before; findings of this run stay.
void AgentJournal::take(OpenedJournal opened) {
  retry_.reset();
  writer_ = std::move(opened.writer);
  problem_.clear();
  if (!opened.moved_aside.empty()) tell_moved_aside(opened.moved_aside);
  if (opened.is_read && !was_read_) context_.on_read_late(opened);
  was_read_ = was_read_ || opened.is_read;
  context_.runtime.use_journal(commit(), opened.remembered.facts.values);
  context_.poll_soon();
}

}  // namespace autopilot::agent
