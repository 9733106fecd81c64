// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/script/findings.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::workloads::migrate {

void Findings::add(Severity severity, std::string_view id, int line, std::string what, std::string cure) {
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const ScriptFinding& finding) {
    return finding.id == id && finding.what == what;
  });
  if (same != all_.end()) {
    const bool is_new =
        line > 0 && std::find(same->lines.begin(), same->lines.end(), line) == same->lines.end();
    if (is_new && same->lines.size() < kMostLines)
      same->lines.insert(std::upper_bound(same->lines.begin(), same->lines.end(), line), line);
    return;
  }
  if (all_.size() >= kMost) {
    ++dropped_;
    return;
  }
  ScriptFinding finding{std::string(id), severity, std::move(what), std::move(cure), {}};
  if (line > 0) finding.lines.push_back(line);
  all_.push_back(std::move(finding));
}

bool Findings::has(std::string_view id) const {
  return std::any_of(all_.begin(), all_.end(),
                     [id](const ScriptFinding& finding) { return finding.id == id; });
}

bool Findings::needs_decision() const {
  return dropped_ > 0 || std::any_of(all_.begin(), all_.end(), [](const ScriptFinding& finding) {
           return finding.severity == Severity::decision;
         });
}

std::vector<ScriptFinding> Findings::sorted() const {
  std::vector<ScriptFinding> sorted = all_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const ScriptFinding& left, const ScriptFinding& right) {
    return left.severity < right.severity;
  });
  return sorted;
}

}  // namespace autopilot::workloads::migrate
