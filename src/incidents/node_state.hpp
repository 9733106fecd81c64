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

// Changes of one step; empty for most runs.
struct Changes {
  std::vector<Transition> transitions;
  std::vector<Incident> incidents;  // opened, changed or closed, in their new state
  std::set<std::string> opened;     // ids of the new ones
  std::vector<Subject> resets;      // GPUs whose reset the observations prove

  [[nodiscard]] bool empty() const { return transitions.empty() && incidents.empty() && resets.empty(); }
};

// State in the journal.
struct SavedState {
  std::vector<SavedFinding> findings;
  std::vector<Incident> incidents;  // open and recovering
  std::uint64_t next_incident = 1;
};

// State machine of one node: findings and their incidents (one per cause; unknown opens no incident). Rules
// as in FindingTracker. Pure; one owner.
class NodeState {
 public:
  // `causes` must outlive this.
  NodeState(ReasonLookup reasons, const std::vector<catalog::Cause>& causes, std::string boot_id);

  // Call it before the first run if possible. Leave out findings of checks that no longer exist: their
  // incidents are closed by "check_removed". A later call keeps the incidents of findings raised meanwhile
  // and does not add them to restored incidents; `saved` must not contain ids assigned since the start.
  Changes restore(SavedState saved, Instant now);
  [[nodiscard]] SavedState save() const;

  // records: new in this run; see IncidentBook::note_record.
  Changes complete_round(std::string_view check, Instant now, const Findings& findings,
                         const Observations& observations, const Findings& records = {});
  // GPU users from sources other than checks; see IncidentBook::note_users.
  Changes note_users(const Observations& observations);
  // The host means all of its GPUs and switches.
  Changes gpu_was_reset(const Subject& gpu, Instant now);
  Changes taken_back(const Subject& gpu, std::uint32_t code, Instant now);
  // Incidents in which only counts and last times of records changed since the last call. For the journal
  // only.
  [[nodiscard]] std::vector<Incident> take_recounted() { return book_.take_recounted(); }
  [[nodiscard]] bool has_recounted() const { return book_.has_recounted(); }
  // not_found: no open or recovering incident has that id.
  Result<Changes> acknowledge(std::string_view incident, const Acknowledgement& acknowledgement, Instant now);

  // The findings of a check: current ones with `since`, and held ones.
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

// Events of these changes, in order, without ids. `simulated` marks each event.
[[nodiscard]] std::vector<Event> to_events(const Changes& changes, WallTime time, std::string_view boot_id,
                                           bool simulated);

}  // namespace autopilot::incidents
