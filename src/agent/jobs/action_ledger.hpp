// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"
#include "jobs/decision/guard_rails.hpp"

namespace autopilot::agent {

enum class ActionState : std::uint8_t {
  begun,  // its end is not known: the agent ended meanwhile
  done,
  partly,  // it failed after something was done, or may have been
  failed,  // nothing was done
};
[[nodiscard]] std::string_view to_string(ActionState state);

// An action on a job, as the file keeps it.
struct ActionEntry {
  std::string finding;  // id
  ActionState state = ActionState::begun;
  WallTime time{};        // when it got this state
  jobs::Request request;  // what was permitted

  // Something was done, or may have been: it counts for the guard rails.
  [[nodiscard]] bool counts() const { return state != ActionState::failed; }
};

// {"version":1,"actions":[{"finding","state","time","job","choice","culprit","cause"}]}, the oldest first.
// malformed: another text, another version, or more than ActionLedger::kMostEntries.
[[nodiscard]] std::string format_actions(const std::vector<ActionEntry>& entries);
[[nodiscard]] Result<std::vector<ActionEntry>> parse_actions(std::string_view text);

// Which actions on jobs began and how they ended, in a file of this agent alone: none is done twice, also
// after a restart. Calls block where the disk blocks: use it on a worker. Not thread-safe.
class ActionLedger {
 public:
  static constexpr std::size_t kMostEntries = 512;  // beyond, the oldest is forgotten
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  // A missing file has no entries. An error names the file, which is left as it is.
  [[nodiscard]] static Result<ActionLedger> open(const std::string& path);

  // Null: no action for this finding began. Valid until the next put().
  [[nodiscard]] const ActionEntry* find(std::string_view finding) const;
  // Replaces the entry of the same finding, and is on the disk when it returns. After an error nothing has
  // changed.
  [[nodiscard]] Status put(const ActionEntry& entry);
  [[nodiscard]] const std::vector<ActionEntry>& entries() const { return entries_; }

 private:
  ActionLedger(std::string path, std::vector<ActionEntry> entries)
      : path_(std::move(path)), entries_(std::move(entries)) {}

  std::string path_;
  std::vector<ActionEntry> entries_;  // the oldest first
};

// What was done, or may have been, counts for the guard rails of `brain`, which did not see it. A time after
// `now` counts as now.
void count_actions(const std::vector<ActionEntry>& entries, WallTime now, jobs::Brain& brain);

}  // namespace autopilot::agent
