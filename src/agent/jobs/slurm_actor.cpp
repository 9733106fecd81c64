// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/slurm_actor.hpp"

#include <utility>
#include <vector>

#include "agent/slurm_actions.hpp"
#include "core/word_table.hpp"

namespace autopilot::agent {
namespace {

using ActionKind = ActionResult::Kind;

constexpr WordTable<ActionKind, 4> kActionKinds{{{ActionKind::done, "done"},
                                                 {ActionKind::failed, "failed"},
                                                 {ActionKind::refused, "refused"},
                                                 {ActionKind::repeated, "repeated"}}};
// Of the key of a job that Slurm runs.
constexpr std::string_view kSlurmKey = "slurm/";

ActionResult refused_action(std::string why) {
  return {.kind = ActionKind::refused, .counts = false, .message = std::move(why)};
}

std::string repeated_text(const ActionEntry& entry) {
  const std::string when = " at " + format_time(entry.time);
  switch (entry.state) {
    case ActionState::done:
      return "it was done before," + when;
    case ActionState::begun:
      return "it was begun" + when +
             " and has no recorded end; it is not repeated: check the job and the node";
    case ActionState::partly:
    case ActionState::failed:
      break;
  }
  return "it failed before," + when + "; it is not repeated";
}

}  // namespace

std::string_view to_string(ActionResult::Kind kind) {
  return word_of(kActionKinds, kind);
}

SlurmActor::SlurmActor(std::shared_ptr<const Clock> clock, std::string path, std::string scontrol)
    : clock_(std::move(clock)), path_(std::move(path)), scontrol_(std::move(scontrol)) {}

Status SlurmActor::open_ledger() {
  if (!ledger_) ledger_ = TRY(ActionLedger::open(path_));
  return {};
}

ActionResult SlurmActor::act(const jobs::WantedAction& action) {
  const std::string& job = action.finding.job;
  if (!job.starts_with(kSlurmKey) || !parse_slurm_job(job))
    return refused_action("the job is not one of Slurm, and this agent acts on no others");
  if (const Status opened = open_ledger(); !opened)
    return refused_action("the record of actions cannot be read: " + opened.error().what +
                          "; check which actions were done, then remove the file");
  if (const ActionEntry* const known = ledger_->find(action.finding.id))
    return {.kind = ActionKind::repeated, .counts = known->counts(), .message = repeated_text(*known)};
  return run({.finding = action.finding.id,
              .state = ActionState::begun,
              .time = clock_->now().wall,
              .request = action.request},
             action);
}

ActionResult SlurmActor::run(ActionEntry entry, const jobs::WantedAction& action) {
  const auto commands = slurm_commands(action);
  if (!commands) return refused_action(commands.error().what);
  if (const Status begun = ledger_->put(entry); !begun)
    return refused_action("it cannot be recorded: " + begun.error().what);
  Status ran;
  bool has_done_some = false;
  for (const SlurmCommand& command : *commands) {
    ran = run_slurm_commands(runner_, *clock_, scontrol_, {command});
    // Slurm may still do what a command asked for that did not end in time.
    has_done_some = has_done_some || ran || ran.error().code == Errc::timed_out;
    if (!ran) break;
  }
  entry.state = ran ? ActionState::done : has_done_some ? ActionState::partly : ActionState::failed;
  entry.time = clock_->now().wall;
  std::string message = ran ? action.finding.summary : ran.error().what + "; it is not repeated";
  if (const Status ended = ledger_->put(entry); !ended)
    message += "; its end cannot be recorded: " + ended.error().what;
  return {.kind = ran ? ActionKind::done : ActionKind::failed,
          .counts = entry.counts(),
          .message = std::move(message)};
}

}  // namespace autopilot::agent
