// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/incident.hpp"

namespace autopilot::incidents {

// Records as members of an incident: each error of each process has a member with its own line. Pure.

// Of one code on one subject; what further processes say is counted in the member of the newest.
inline constexpr std::size_t kMaxProcessesOfOneError = 16;

// The member is that finding (with its code), or a record of the same identity.
[[nodiscard]] bool is_same(const IncidentMember& member, std::string_view check, const Finding& finding);
// The same error of the same process, or the same log rule.
[[nodiscard]] bool is_same_record(const IncidentMember& member, std::string_view check,
                                  const Finding& record);
// By pid, since threads have names of their own; by name where there is no pid.
[[nodiscard]] bool is_of_one_process(const Finding& a, const Finding& b);

// `more` is the same again.
void add_count(Finding& record, const Finding& more);
// The member that counts a record which has none of its own: the same one, or the newest where there are too
// many processes. Null: the record becomes a member.
[[nodiscard]] IncidentMember* counted_by(Incident& incident, std::string_view check, const Finding& record);

// The finding as it is now. A member that stands keeps the line of its process: another process has a member
// of its own.
void retell(IncidentMember& member, const Finding& current);

// Records that may turn out to be the consequence of something told later. Bounded; one owner.
class WaitingRecords {
 public:
  static constexpr std::size_t kMax = 64;

  // The oldest makes room.
  void keep(std::string_view check, const Finding& record);
  // Those for which `belongs` is true; they wait no longer.
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
