// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/crash_watch.hpp"
#include "jobs/decision/decide.hpp"
#include "jobs/engine.hpp"
#include "jobs/finding_book.hpp"
#include "jobs/hang_watch.hpp"
#include "jobs/job_context.hpp"
#include "jobs/power_rhythm.hpp"
#include "jobs/replicas.hpp"
#include "jobs/slow_watch.hpp"
#include "jobs/work_rate.hpp"

namespace autopilot::jobs {

// One job, from its start to its end, through all attempts.
class JobWatch {
 public:
  // The fleet, the events, the policy and the pointer to the weights outlive it.
  JobWatch(const EngineOptions& options, Fleet& fleet, const EventMemory& events, const Policy& policy,
           const SignalWeightsPtr& weights);

  // The first attempt, the next one, or other ranks.
  void start(const JobRecord& job);
  void finish(const JobEndRecord& end);
  // Open findings of an earlier evaluation, in that attempt of the job. After start().
  void restore(int attempt, std::vector<JobFinding> findings, WallTime now);
  void add(const StepRecord& record) { progress_.add(record); }
  void add(const PhaseRecord& record) { progress_.add(record); }
  void add(const CollectivesRecord& record);
  void add(const ServingRecord& record);
  void add(const AnswerRecord& record);
  // Fast power of a node on which the job has ranks.
  void add_power(const WindowRecord& window);
  void add(const ExitRecord& record) { crash_.add(record); }
  void add(const LogRecord& record) { crash_.add(record); }
  void add(const PodRecord& record) { crash_.add(record); }

  // Every 10 s, and for each complete minute, in order of time.
  void tick(WallTime now);
  void minute(WallTime end);

  [[nodiscard]] std::vector<JobFinding> take() { return book_.take(); }
  [[nodiscard]] std::vector<PeerScore> take_scores() { return slow_.take_scores(); }
  [[nodiscard]] JobState state() const;
  [[nodiscard]] std::vector<const JobFinding*> open() const { return book_.open(); }
  // Of the last attempt that ended with an error.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  // The time of its end; the job can be forgotten some time after it.
  [[nodiscard]] std::optional<WallTime> ended() const { return ended_; }
  [[nodiscard]] const Membership& members() const { return *members_; }

 private:
  [[nodiscard]] JobContext context() const {
    return {record_, *members_, fleet_, events_, progress_, weights_.get()};
  }
  [[nodiscard]] JobFinding draft(Effect effect, Entity culprit, WallTime onset) const;
  // Sets severity and decision from the rest of the finding, and files it.
  void raise(JobFinding finding, Situation situation, WallTime now);
  void report_hang(WallTime now);
  void report_crash(WallTime now);
  void report_slow(const SlowCase& found, WallTime end);
  void report_regression(WallTime end, bool is_explained);
  void report_slow_replicas(WallTime end);
  void report_replicas(WallTime now);
  void report_loss(WallTime now);
  [[nodiscard]] DecisionInputs inputs_for(const JobFinding& finding, Situation situation, WallTime now) const;
  [[nodiscard]] Entity place_of_replica(const std::string& replica) const;
  [[nodiscard]] bool has_equal_ranks(const JobRecord& job) const;

  Fleet& fleet_;
  const EventMemory& events_;
  const Policy& policy_;
  const SignalWeightsPtr& weights_;
  JobRecord record_;
  std::unique_ptr<Membership> members_;
  Progress progress_;
  HangWatch hang_;
  SlowWatch slow_;
  CrashWatch crash_;
  Replicas replicas_;
  PowerRhythm rhythm_;
  WorkRate work_;
  FindingBook book_;
  WallTime now_{};
  std::optional<double> step_s_;
  std::optional<double> first_period_s_;  // of the rhythm of power
  std::optional<WallTime> explained_;     // last minute in which a culprit explained the regression
  std::optional<WallTime> long_gap_;      // end of the last long time without progress
  std::optional<WallTime> ended_;
  std::optional<AnswerRecord> unanswered_;
  std::optional<Failure> failure_;
};

}  // namespace autopilot::jobs
