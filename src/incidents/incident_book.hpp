// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/incident.hpp"
#include "incidents/finding_tracker.hpp"

namespace autopilot::incidents {

// The incidents that are not closed, one per finding. Pure; one owner.
class IncidentBook {
 public:
  explicit IncidentBook(ReasonLookup reasons);

  void restore(const std::vector<Incident>& incidents);
  [[nodiscard]] bool contains(std::string_view id) const { return open_.contains(id); }
  // The incident as the transition leaves it. The transition must name one.
  Incident apply(const Transition& transition, WallTime now);
  // Values in the evidence change from round to round without a transition.
  void refresh(std::string_view check, const Findings& findings);
  // Null when there is none of that id.
  const Incident* acknowledge(std::string_view id, WallTime now);
  // Closes those whose finding is not among `live` (ids).
  std::vector<Incident> close_orphans(const std::set<std::string, std::less<>>& live, WallTime now);

  [[nodiscard]] std::vector<Incident> incidents() const;

 private:
  using Open = std::map<std::string, Incident, std::less<>>;
  Incident close(Open::iterator found, std::string by, WallTime now);

  ReasonLookup reasons_;
  Open open_;
};

}  // namespace autopilot::incidents
