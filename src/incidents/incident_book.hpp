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

#include "core/clock.hpp"
#include "core/incident.hpp"
#include "incidents/causes.hpp"
#include "incidents/finding_tracker.hpp"
#include "incidents/gpu_users.hpp"

namespace autopilot::incidents {

// Records as members of an incident: each error of each process is a member with its own log line. Pure.

// Limit for one code on one subject; records of further processes are counted in the newest member.
inline constexpr std::size_t kMaxProcessesOfOneError = 16;

// True if the member is the same finding (with its code), or a record of the same identity.
[[nodiscard]] bool is_same(const IncidentMember& member, std::string_view check, const Finding& finding);
// True for the same error and log rule of the same process.
[[nodiscard]] bool is_same_record(const IncidentMember& member, std::string_view check,
                                  const Finding& record);
// Compares pids, because names of threads differ; without pids compares names.
[[nodiscard]] bool is_of_one_process(const Finding& a, const Finding& b);

// Adds the count and last time of a repeated record.
void add_count(Finding& record, const Finding& more);
// The member that counts the record: the same error of the same process, or the newest if too many processes
// are members. Null: the record becomes a member.
[[nodiscard]] IncidentMember* counted_by(Incident& incident, std::string_view check, const Finding& record);

// Updates the member from the current finding. A member that has not cleared keeps the evidence of its own
// process, because another process is a separate member.
void retell(IncidentMember& member, const Finding& current);

// Records that may be consequences of a cause reported later. Bounded; one owner.
class WaitingRecords {
 public:
  static constexpr std::size_t kMax = 64;

  // Drops the oldest record beyond kMax.
  void keep(std::string_view check, const Finding& record);
  // Removes and returns the records for which `belongs` is true.
  template <class Belongs>
  std::vector<IncidentMember> take(const Belongs& belongs) {
    std::vector<IncidentMember> taken;
    std::erase_if(waiting_, [&](const IncidentMember& member) {
      if (!belongs(member.finding)) return false;
      taken.push_back(member);
      return true;
    });
    return taken;
  }
  void forget_before(WallTime time);

 private:
  std::vector<IncidentMember> waiting_;
};

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
