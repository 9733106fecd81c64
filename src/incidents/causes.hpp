// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/finding.hpp"
#include "core/incident.hpp"
#include "incidents/finding_tracker.hpp"

namespace autopilot::incidents {

// True if `word` is the finding's reason, or matches its driver record: xid_<code> (also the code of the
// error that the record follows), sxid_<code>, sxid_fatal or sxid_nonfatal.
[[nodiscard]] bool has_word(const Finding& finding, std::string_view word);

// Relations between two findings (or records; see IncidentMember) by the catalog's cause rules. Pure.
class CauseRules {
 public:
  // `causes` must outlive this.
  explicit CauseRules(const std::vector<catalog::Cause>& causes) : causes_(&causes) {}

  // The first rule with this finding as a root; null without such a rule.
  [[nodiscard]] const catalog::Cause* cause_of(const Finding& finding) const;
  [[nodiscard]] const catalog::Cause* find(std::string_view id) const;
  // True if any rule takes the finding as a consequence.
  [[nodiscard]] bool may_take(const Finding& finding) const;
  // The longest time, over all rules, by which a consequence may precede its cause.
  [[nodiscard]] Duration longest_window() const;
  // True if a precedes b in the catalog.
  [[nodiscard]] static bool outranks(const catalog::Cause& a, const catalog::Cause& b) { return &a < &b; }

 private:
  const std::vector<catalog::Cause>* causes_;
};

// True if the finding alone proves the cause.
[[nodiscard]] bool is_root(const catalog::Cause& cause, const Finding& finding);
// True if `other` is a consequence of `root`. root_stands: the finding of the root has not cleared.
[[nodiscard]] bool takes(const catalog::Cause& cause, const Finding& root, bool root_stands,
                         const Finding& other);
// True if `other` shows the same cause: on the same device, or within the window on another device if the
// rule counts several. Records of programs belong together only with the same name or pid.
[[nodiscard]] bool is_same_cause(const catalog::Cause& cause, const Finding& root, const Finding& other);

// True for a finding that has not cleared; false for a record.
[[nodiscard]] bool stands(const IncidentMember& member);
// The first member that is not secondary; without one, the first member. The incident must have a member.
[[nodiscard]] const IncidentMember& cause_member(const Incident& incident);

// Applies the rule to the members: sets the kind of fault and its sentence; if several devices show the
// cause, also culprit, action and confidence. Pure.
void blame(Incident& incident, const catalog::Cause& cause);

// Probability that the subject of the finding is at fault, 0..1: from the evidence "confidence", else from
// the catalog's reason.
[[nodiscard]] double confidence_of(const Finding& finding, const ReasonLookup& reasons);

}  // namespace autopilot::incidents
