// SPDX-License-Identifier: Apache-2.0
#include "incidents/passing_findings.hpp"

#include <iterator>

namespace autopilot::incidents {
namespace {

void append(TransitionKind kind, std::string_view check, const Finding& finding,
            std::vector<Transition>& transitions) {
  if (finding.health == Health::unknown) transitions.push_back({kind, std::string(check), finding, {}});
}

}  // namespace

void PassingFindings::replace(std::string_view check, KeyedFindings reported, WallTime now, std::size_t limit,
                              std::vector<Transition>& transitions) {
  while (reported.size() > limit) {
    reported.erase(std::prev(reported.end()));
    ++dropped_;
  }
  for (auto& [key, finding] : reported) {
    const auto before = findings_.find(key);
    const bool is_same = before != findings_.end() && before->second.health == finding.health;
    finding.since = is_same ? before->second.since : now;
    if (!is_same) append(TransitionKind::raised, check, finding, transitions);
  }
  for (auto entry = findings_.begin(); entry != findings_.end();) {
    const auto current = entry++;
    if (current->first.check != check) continue;
    const auto after = reported.find(current->first);
    if (after == reported.end() || after->second.health != current->second.health)
      append(TransitionKind::cleared, check, current->second, transitions);
    findings_.erase(current);
  }
  findings_.merge(reported);
}

void PassingFindings::append_to(Findings& findings, std::string_view check) const {
  for (const auto& [key, finding] : findings_)
    if (key.check == check) findings.push_back(finding);
}

}  // namespace autopilot::incidents
