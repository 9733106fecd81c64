// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "core/clock.hpp"
#include "jobs/findings.hpp"

namespace autopilot::jobs {

// The open findings of one job, from the first evidence to the end, and their changes. A hang, a crash and a
// regression are one finding whatever their culprit, which may become known later; other findings are one for
// each culprit.
class FindingBook {
 public:
  static constexpr std::size_t kMaxOpen = 64;
  // A change of the probability that is worth a report.
  static constexpr double kStep = 0.1;
  // A restored finding that no evidence renews ends after this time.
  static constexpr Duration kUnconfirmed = std::chrono::minutes(30);

  // Open findings of an earlier evaluation. They keep their ids and are unconfirmed until raise() renews
  // them.
  void restore(std::vector<JobFinding> findings, WallTime now);

  // New evidence for a finding at `now`. The first draft sets onset and detection; later ones update culprit,
  // evidence, probability and decision. A severity never falls while the finding is open. False: no place for
  // a new finding.
  bool raise(JobFinding draft, WallTime now);
  // The condition of the findings that match has ended at `now`.
  void resolve(WallTime now, const std::function<bool(const JobFinding&)>& matches);
  // Resolves findings whose evidence was not renewed for `quiet`, or for kUnconfirmed if they are
  // unconfirmed. Crashes and hangs end by `resolve` only, except unconfirmed hangs of a replica.
  void expire(WallTime now, Duration quiet);

  [[nodiscard]] const JobFinding* find(Effect effect) const;
  [[nodiscard]] std::vector<const JobFinding*> open() const;
  // Findings that were raised, changed or resolved since the last call, in this order.
  [[nodiscard]] std::vector<JobFinding> take();

 private:
  struct Held {
    JobFinding finding;
    WallTime renewed{};
    double reported = 0;  // probability in the last report
  };
  [[nodiscard]] Held* same(const JobFinding& draft);

  std::vector<Held> open_;
  std::vector<JobFinding> changes_;
};

}  // namespace autopilot::jobs
