// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/finding.hpp"

namespace autopilot::incidents {

// Its reason, or the xid_<code> (also of the error that it says it follows), sxid_<code>, sxid_fatal or
// sxid_nonfatal of its record.
[[nodiscard]] bool has_word(const Finding& finding, std::string_view word);

// What the catalog's rules say about two findings (or records; see IncidentMember). Pure.
class CauseRules {
 public:
  // They must outlive it.
  explicit CauseRules(const std::vector<catalog::Cause>& causes) : causes_(&causes) {}

  // The first rule that has it as a root; null where none has.
  [[nodiscard]] const catalog::Cause* cause_of(const Finding& finding) const;
  [[nodiscard]] const catalog::Cause* find(std::string_view id) const;
  // As a consequence, by any rule.
  [[nodiscard]] bool may_take(const Finding& finding) const;
  // Of all rules, how long a consequence may be told before its cause.
  [[nodiscard]] Duration longest_window() const;
  // a stands further up in the catalog.
  [[nodiscard]] static bool outranks(const catalog::Cause& a, const catalog::Cause& b) { return &a < &b; }

 private:
  const std::vector<catalog::Cause>* causes_;
};

// It shows the cause by itself.
[[nodiscard]] bool is_root(const catalog::Cause& cause, const Finding& finding);
// `other` is a consequence of `root`. root_stands: the finding of the root has not been cleared.
[[nodiscard]] bool takes(const catalog::Cause& cause, const Finding& root, bool root_stands,
                         const Finding& other);
// `other` shows the same cause: on the same device, or at once on another one where the rule counts several.
// Of programs only those of one name belong together.
[[nodiscard]] bool is_same_cause(const catalog::Cause& cause, const Finding& root, const Finding& other);

}  // namespace autopilot::incidents
