// SPDX-License-Identifier: Apache-2.0
#include "incidents/passing_findings.hpp"

#include <iterator>

namespace autopilot::incidents {
namespace {

void tell(TransitionKind kind, std::string_view check, const Finding& finding,
          std::vector<Transition>& transitions) {
  if (finding.health == Health::unknown) transitions.push_back({kind, std::string(check), finding, {}});
}

}  // namespace

void PassingFindings::replace(std::string_view check, KeyedFindings said, WallTime now, std::size_t limit,
                              std::vector<Transition>& transitions) {
  while (said.size() > limit) {
    said.erase(std::prev(said.end()));
    ++dropped_;
  }
  for (auto& [key, finding] : said) {
    const auto before = findings_.find(key);
    const bool is_same = before != findings_.end() && before->second.health == finding.health;
    finding.since = is_same ? before->second.since : now;
    if (!is_same) tell(TransitionKind::raised, check, finding, transitions);
  }
  for (auto entry = findings_.begin(); entry != findings_.end();) {
    const auto current = entry++;
    if (current->first.check != check) continue;
    const auto after = said.find(current->first);
    if (after == said.end() || after->second.health != current->second.health)
      tell(TransitionKind::cleared, check, current->second, transitions);
    findings_.erase(current);
  }
  findings_.merge(said);
}

void PassingFindings::append_to(Findings& findings, std::string_view check) const {
  for (const auto& [key, finding] : findings_)
    if (key.check == check) findings.push_back(finding);
}

}  // namespace autopilot::incidents
