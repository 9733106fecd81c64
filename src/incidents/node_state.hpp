// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "core/incident.hpp"
#include "core/result.hpp"
#include "incidents/finding_tracker.hpp"
#include "incidents/incident_book.hpp"

namespace autopilot::incidents {

// What one step changed; empty for most rounds.
struct Changes {
  std::vector<Transition> transitions;
  std::vector<Incident> incidents;  // opened, changed or closed, as they are now
  std::set<std::string> opened;     // ids of those that are new
  std::vector<Subject> resets;      // GPUs that were reset, as the looks prove

  [[nodiscard]] bool empty() const { return transitions.empty() && incidents.empty() && resets.empty(); }
};

// What the journal keeps between runs.
struct SavedState {
  std::vector<SavedFinding> findings;
  std::vector<Incident> incidents;  // open and recovering
  std::uint64_t next_incident = 1;
};

// The state machine of one node: findings and their incidents (one per cause; unknown never makes one). Pure;
// one owner. The rules are those of FindingTracker.
class NodeState {
 public:
  // `causes` must outlive it.
  NodeState(ReasonLookup reasons, const std::vector<catalog::Cause>& causes, std::string boot_id);

  // Best before the first round. Leave out the findings of checks that do not exist any more: their incidents
  // are closed by the word "check_removed". Later, what has been found meanwhile has an incident of its own,
  // keeps it, and is no member of a restored one; ids given since must not be among those of `saved`.
  Changes restore(SavedState saved, Instant now);
  [[nodiscard]] SavedState save() const;

  // records: what the round saw for the first time, see IncidentBook::note_record.
  Changes complete_round(std::string_view check, Instant now, const Findings& findings,
                         const Observations& observations, const Findings& records = {});
  // What others than checks tell of who uses the GPUs: see IncidentBook::note_users.
  Changes note_users(const Observations& observations);
  // The host stands for all of its GPUs and switches.
  Changes gpu_was_reset(const Subject& gpu, Instant now);
  Changes taken_back(const Subject& gpu, std::uint32_t code, Instant now);
  // Incidents of which rounds changed no more than how often records were seen and when last, since the last
  // call: for the journal, no news for anybody else.
  [[nodiscard]] std::vector<Incident> take_recounted() { return book_.take_recounted(); }
  [[nodiscard]] bool has_recounted() const { return book_.has_recounted(); }
  // not_found when no open or recovering incident has that id.
  Result<Changes> acknowledge(std::string_view incident, const Acknowledgement& acknowledgement, Instant now);

  // The effective findings of a check: current ones with `since`, and held ones.
  [[nodiscard]] Findings findings(std::string_view check) const { return tracker_.findings(check); }
  // Open and recovering, oldest first.
  [[nodiscard]] std::vector<Incident> incidents() const { return book_.incidents(); }
  [[nodiscard]] std::size_t dropped() const { return tracker_.dropped(); }

 private:
  void leave_out_what_is_here(SavedState& saved) const;
  Changes apply(std::vector<Transition> transitions, Instant now);
  void take(IncidentBook::Applied applied, Changes& changes);

  FindingTracker tracker_;
  IncidentBook book_;
};

// The node's story of these changes, in order, without ids. `simulated` marks each.
[[nodiscard]] std::vector<Event> to_events(const Changes& changes, WallTime time, std::string_view boot_id,
                                           bool simulated);

}  // namespace autopilot::incidents
