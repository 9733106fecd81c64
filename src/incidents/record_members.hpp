// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/incident.hpp"

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

}  // namespace autopilot::incidents
