// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/ledger.hpp"

#include <algorithm>

namespace autopilot::controller {

bool has_done(const LedgerEntry& entry, ActionKind kind, std::string_view target) {
  return std::ranges::any_of(
      entry.done, [&](const DoneStep& step) { return step.kind == kind && step.target == target; });
}

std::optional<WallTime> last_done(const LedgerEntry& entry, ActionKind kind) {
  std::optional<WallTime> last;
  for (const DoneStep& step : entry.done)
    if (step.kind == kind && (!last || step.at > *last)) last = step.at;
  return last;
}

void note_done(LedgerEntry& entry, DoneStep step) {
  std::erase_if(entry.done,
                [&](const DoneStep& old) { return old.kind == step.kind && old.target == step.target; });
  if (entry.done.size() >= LedgerEntry::kMaxDone) entry.done.erase(entry.done.begin());
  entry.done.push_back(std::move(step));
}

void note_evidence(LedgerEntry& entry, std::string_view name) {
  if (std::ranges::find(entry.evidence, name) != entry.evidence.end()) return;
  if (entry.evidence.size() >= LedgerEntry::kMaxEvidence) entry.evidence.erase(entry.evidence.begin() + 1);
  entry.evidence.emplace_back(name);
}

void note_job(LedgerEntry& entry, std::string_view uid) {
  if (std::ranges::find(entry.jobs, uid) != entry.jobs.end()) return;
  if (entry.jobs.size() < LedgerEntry::kMaxJobs) entry.jobs.emplace_back(uid);
}

}  // namespace autopilot::controller
