// SPDX-License-Identifier: Apache-2.0
#include "jobs/finding_book.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "jobs/causes.hpp"

namespace autopilot::jobs {
namespace {

bool is_one_whatever_the_culprit(Effect effect) {
  return effect == Effect::hang || effect == Effect::crash || effect == Effect::regression;
}

// A part that is at fault may come to slow the job.
bool is_of_part(Effect effect) {
  return effect == Effect::none || effect == Effect::slow;
}

bool ends_by_silence(const JobFinding& finding) {
  if (!finding.is_confirmed && finding.cause == kReplica) return true;
  return finding.effect != Effect::hang && finding.effect != Effect::crash;
}

}  // namespace

void FindingBook::restore(std::vector<JobFinding> findings, WallTime now) {
  for (JobFinding& finding : findings) {
    if (open_.size() >= kMaxOpen) return;
    finding.is_confirmed = false;
    const double probability = finding.probability;
    open_.push_back({std::move(finding), now, probability});
  }
}

FindingBook::Held* FindingBook::same(const JobFinding& draft) {
  const auto found = std::ranges::find_if(open_, [&](const Held& held) {
    if (is_of_part(draft.effect))
      return is_of_part(held.finding.effect) && held.finding.culprit == draft.culprit;
    return held.finding.effect == draft.effect &&
           (is_one_whatever_the_culprit(draft.effect) || held.finding.culprit == draft.culprit);
  });
  return found == open_.end() ? nullptr : &*found;
}

bool FindingBook::raise(JobFinding draft, WallTime now) {
  Held* held = same(draft);
  if (held == nullptr) {
    if (open_.size() >= kMaxOpen) return false;
    draft.detected = now;
    changes_.push_back(draft);
    open_.push_back({std::move(draft), now, changes_.back().probability});
    return true;
  }
  JobFinding& known = held->finding;
  if (known.effect == Effect::slow && draft.effect == Effect::none) {
    draft.effect = known.effect;
    draft.slowdown = known.slowdown;
    draft.summary = known.summary;
  }
  const bool is_news = !known.is_confirmed || known.effect != draft.effect ||
                       known.culprit != draft.culprit || draft.severity > known.severity ||
                       draft.decision.choice != known.decision.choice ||
                       std::abs(draft.probability - held->reported) >= kStep;
  draft.id = known.id;
  draft.onset = known.onset;
  draft.detected = known.detected;
  draft.severity = std::max(draft.severity, known.severity);
  known = std::move(draft);
  held->renewed = now;
  if (is_news) {
    held->reported = known.probability;
    changes_.push_back(known);
  }
  return true;
}

void FindingBook::resolve(WallTime now, const std::function<bool(const JobFinding&)>& matches) {
  std::erase_if(open_, [&](Held& held) {
    if (!matches(held.finding)) return false;
    held.finding.resolved = now;
    changes_.push_back(held.finding);
    return true;
  });
}

void FindingBook::expire(WallTime now, Duration quiet) {
  std::vector<std::string> ended;
  for (Held& held : open_) {
    JobFinding& finding = held.finding;
    if (!ends_by_silence(finding) || now - held.renewed < (finding.is_confirmed ? quiet : kUnconfirmed))
      continue;
    if (!finding.is_confirmed) finding.summary += "; not seen again since the evaluation began anew";
    ended.push_back(finding.id);
  }
  resolve(now,
          [&](const JobFinding& finding) { return std::ranges::find(ended, finding.id) != ended.end(); });
}

const JobFinding* FindingBook::find(Effect effect) const {
  const auto found = std::ranges::find(open_, effect, [](const Held& held) { return held.finding.effect; });
  return found == open_.end() ? nullptr : &found->finding;
}

std::vector<const JobFinding*> FindingBook::open() const {
  std::vector<const JobFinding*> findings;
  findings.reserve(open_.size());
  for (const Held& held : open_)
    findings.push_back(&held.finding);
  return findings;
}

std::vector<JobFinding> FindingBook::take() {
  return std::exchange(changes_, {});
}

}  // namespace autopilot::jobs
