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
#include "incidents/cause_rules.hpp"
#include "incidents/finding_tracker.hpp"
#include "incidents/gpu_users.hpp"
#include "incidents/record_members.hpp"

namespace autopilot::incidents {

// The incidents that are not closed: findings and driver records with one cause, by the catalog's rules. A
// member stays in its incident; a cause that shows after its consequences takes their incidents over. Pure;
// one owner.
class IncidentBook {
 public:
  // Incidents of records alone that are open at once; the oldest makes room.
  static constexpr std::size_t kMaxOfRecords = 64;

  IncidentBook(ReasonLookup reasons, const std::vector<catalog::Cause>& causes);

  // Who uses the GPUs, as a look saw it: an incident names those whom it concerns. Gives the incidents that
  // name more of them now.
  std::vector<Incident> note_users(const Observations& observations);

  void restore(const std::vector<Incident>& incidents);
  [[nodiscard]] bool contains(std::string_view id) const { return open_.contains(id); }

  struct Applied {
    Incident incident;  // as the transition leaves it; its id may differ from the transition's
    bool is_new = false;
    std::vector<Incident> merged;  // closed, because their members are part of `incident` now
  };
  // The transition must name an incident; of a new finding that belongs to an open one that name is not used.
  Applied apply(const Transition& transition, WallTime now);
  // A record of that check: one that makes no finding (see is_record), or one of the health of the finding
  // that counts it. Nothing where no rule knows it, or where it only repeats what an open incident has:
  // then it is counted there, for take_recounted() to tell. One that only ever is a consequence waits for its
  // cause.
  std::optional<Applied> note_record(std::string_view check, const Finding& record,
                                     const std::function<std::string()>& new_id, WallTime now);
  // Incidents of which note_record changed no more than counts, since the last call.
  [[nodiscard]] std::vector<Incident> take_recounted();
  [[nodiscard]] bool has_recounted() const { return !recounted_.empty(); }
  // Closes incidents of records whose last one is older than their reason's clear_after.
  std::vector<Incident> expire(WallTime now);
  // Values in the evidence change from round to round without a transition.
  void refresh(std::string_view check, const Findings& findings);
  // Null when there is none of that id.
  const Incident* acknowledge(std::string_view id, Acknowledgement acknowledgement);
  // Closes those with findings of which none is among `live` (ids of incidents).
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
