// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/incident.hpp"
#include "incidents/causes.hpp"
#include "incidents/finding_tracker.hpp"
#include "incidents/gpu_users.hpp"
#include "incidents/record_members.hpp"

namespace autopilot::incidents {

// The incidents that are not closed: groups of findings and driver records with one cause, by the catalog's
// rules. A member stays in its incident; a cause reported after its consequences takes over their incidents.
// Pure; one owner.
class IncidentBook {
 public:
  // Most open incidents without findings; a new one closes the oldest.
  static constexpr std::size_t kMaxOfRecords = 64;

  IncidentBook(ReasonLookup reasons, const std::vector<catalog::Cause>& causes);

  // Adds GPU users from observations to the incidents that concern them. Returns the incidents that changed.
  std::vector<Incident> note_users(const Observations& observations);

  void restore(const std::vector<Incident>& incidents);
  [[nodiscard]] bool contains(std::string_view id) const { return open_.contains(id); }

  struct Applied {
    Incident incident;  // as the transition leaves it; its id may differ from the transition's
    bool is_new = false;
    std::vector<Incident> merged;  // closed: their members moved to `incident`
  };
  // The transition must name an incident. A new finding that belongs to an open incident does not use that
  // name.
  Applied apply(const Transition& transition, WallTime now);
  // Adds a record of that check: without a finding (see is_record), or with the health of the finding that
  // counts it. nullopt if no rule matches, or if the record only repeats a member: then it is counted there
  // (see take_recounted). A record that can only be a consequence waits for its cause.
  std::optional<Applied> note_record(std::string_view check, const Finding& record,
                                     const std::function<std::string()>& new_id, WallTime now);
  // Incidents in which note_record changed only counts and times, since the last call.
  [[nodiscard]] std::vector<Incident> take_recounted();
  [[nodiscard]] bool has_recounted() const { return !recounted_.empty(); }
  // Closes incidents without findings whose last record is older than the clear_after of their reason.
  std::vector<Incident> expire(WallTime now);
  // Updates the evidence of members, which may change without a transition.
  void refresh(std::string_view check, const Findings& findings);
  // Null: no open incident has that id.
  const Incident* acknowledge(std::string_view id, Acknowledgement acknowledgement);
  // Closes incidents with findings whose id is not in `live`.
  std::vector<Incident> close_orphans(const std::set<std::string, std::less<>>& live, WallTime now);

  [[nodiscard]] std::vector<Incident> incidents() const;

 private:
  using Open = std::map<std::string, Incident, std::less<>>;

  [[nodiscard]] Open::iterator place(const IncidentMember& newcomer, const std::string& id,
                                     std::vector<Incident>& merged, WallTime now);
  std::optional<Applied> note_line(std::string_view check, const Finding& record, WallTime now);
  void take_waiting(Incident& incident);
  [[nodiscard]] Open::iterator that_takes(IncidentMember& member);
  [[nodiscard]] std::vector<Open::iterator> taken_by(const catalog::Cause& cause, const Finding& root);
  void add(Incident& incident, IncidentMember member) const;
  void show(Incident& incident) const;
  Incident close(Open::iterator found, std::string by, WallTime now);
  void make_room_for_records(std::vector<Incident>& closed, WallTime now);

  ReasonLookup reasons_;
  CauseRules rules_;
  GpuUsers users_;
  WaitingRecords waiting_;
  Open open_;
  std::set<std::string, std::less<>> recounted_;  // ids
};

}  // namespace autopilot::incidents
