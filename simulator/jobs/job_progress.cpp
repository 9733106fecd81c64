// SPDX-License-Identifier: Apache-2.0
// What a job shows of its progress.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/jobs/job_run.hpp"

namespace autopilot::simulated_jobs {
namespace {

constexpr std::size_t kEveryRank = 128;  // up to this many ranks, each one reports steps
constexpr double kTokens = 4'194'304;

}  // namespace

void JobRun::send_phase(double at, jobs::Phase phase, jobs::Edge edge) {
  if (plan_.progress.has_phases) send(at, jobs::PhaseRecord{wall(at), plan_.job, std::nullopt, phase, edge});
}

void JobRun::send_step(double at, bool has_nan) {
  jobs::StepRecord record;
  record.job = plan_.job;
  record.step = step_;
  record.step_s = std::max(0.001, at - step_begin_);
  record.tokens = kTokens;
  record.loss = has_nan ? std::numeric_limits<double>::quiet_NaN()
                        : 2 + 8000.0 / (static_cast<double>(step_) + 1000) + 0.02 * random_.noise();
  step_begin_ = at;
  const auto deliver = [&](std::optional<int> rank) {
    const double late = at + random_.uniform(0, 0.05);
    record.time = wall(late);
    record.rank = rank;
    send(late, record);
  };
  if (plan_.progress.has_steps) deliver(std::nullopt);
  if (!plan_.progress.has_rank_steps) return;
  const std::size_t stride = ranks_.size() <= kEveryRank ? 1 : kGpus;
  for (std::size_t i = 0; i < ranks_.size(); i += stride)
    deliver(static_cast<int>(i));
}

// Stage -1 is the communicator of all ranks. In a hang, the ranks of the culprit's stage wait for it in the
// communicator of the stage; all others wait for that stage in the communicator of all ranks.
jobs::Communicator JobRun::communicator(int stage, double at) {
  const bool is_hung = stop_ && at >= stop_->onset;
  const FaultClass fault = stop_ ? stop_->fault.fault_class : FaultClass::gpu_clock;
  const bool is_behind = is_hung && fault != FaultClass::hang_link_equal_counts;
  const bool is_mismatch = is_hung && fault == FaultClass::hang_mismatch;
  const int hung_stage = stop_ ? ranks_[static_cast<std::size_t>(stop_->rank)].stage : -1;
  jobs::Communicator result;
  result.id = "0x" + std::to_string(attempt_ * 100 + stage + 1);
  const std::int64_t base = stage < 0 ? world_count_ : stage_count_;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (stage >= 0 && ranks_[i].stage != stage) continue;
    const int rank = static_cast<int>(i);
    const bool is_culprit = is_hung && rank == stop_->rank;
    const bool is_gone = is_hung && ranks_[i].role == HangRole::is_gone;
    const bool is_silent = is_gone || (is_culprit && ranks_[i].role == HangRole::is_stopped);
    std::int64_t count = base + (!is_hung && random_.chance(0.05) ? 1 : 0);
    if (is_mismatch)
      count += (i % 2 == 0) == (stage < 0) ? 1 : 0;
    else if (is_behind)
      count += stage < 0 ? ranks_[i].stage != hung_stage : !is_culprit;
    else if (is_hung)
      count += 1;
    result.ranks.push_back(rank);
    result.started.push_back(is_silent ? std::nullopt : std::optional(count));
    if (is_silent) (is_gone ? result.dead : result.missing).push_back(rank);
  }
  result.size = static_cast<int>(result.ranks.size());
  return result;
}

void JobRun::send_collectives(double at) {
  if (!is_training_ || at < training_since_ || (stop_ && at >= stop_->exits)) return;
  jobs::CollectivesRecord record;
  record.time = wall(at);
  record.job = plan_.job;
  record.communicators.push_back(communicator(-1, at));
  for (int stage = 0; stage < static_cast<int>(plan_.stages.size()); ++stage)
    record.communicators.push_back(communicator(stage, at));
  send(at, std::move(record));
}

// The process lives: it also sends them while it waits in a collective for ever.
void JobRun::send_heartbeats(double at) {
  if (!is_training_ || at < training_since_ || (stop_ && at >= stop_->exits)) return;
  for (std::size_t i = 0; i < ranks_.size(); i += kGpus) {
    const bool is_hung = stop_ && at >= stop_->onset;
    if (is_hung && (ranks_[i].role == HangRole::is_gone || ranks_[i].role == HangRole::is_stopped)) continue;
    send(at, jobs::HeartbeatRecord{wall(at), plan_.job, static_cast<int>(i)});
  }
}

// One replica on each node. Requests vary over the day; a hung replica keeps its requests and returns
// nothing.
void JobRun::send_serving(double from, double to) {
  if (!is_training_) return;
  const double day = 0.6 + 0.25 * wave(from / 86400);
  for (std::size_t first = 0; first < ranks_.size(); first += kGpus) {
    RankRun& lead = ranks_[first];
    const double load = std::clamp(day * (1 + 0.08 * random_.noise()), 0.05, 0.95);
    const double speed = static_cast<double>(lead.replica_clock);
    for (std::size_t i = first; i < std::min(first + kGpus, ranks_.size()); ++i)
      ranks_[i].load = static_cast<float>(std::min(1.0, load / speed));
    jobs::ServingRecord record;
    record.time = wall(to);
    record.job = plan_.job;
    record.replica = "replica-" + std::to_string(first / kGpus);
    const bool is_full = lead.is_hung || load / speed > 0.95;
    record.running = std::round(std::min(64.0, 64 * load / speed));
    record.waiting = is_full ? std::round(random_.uniform(20, 60)) : std::round(random_.uniform(0, 2));
    record.tokens_s = lead.is_hung ? 0 : 9000 * std::min(load, speed * 0.95);
    record.requests_s = lead.is_hung ? 0 : 30 * std::min(load, speed * 0.95);
    if (!lead.is_hung) {
      record.first_token_s = (is_full ? 3.0 : 0.25) / speed * (1 + 0.1 * random_.uniform());
      record.per_token_s = 0.02 * (0.7 + 0.6 * load) / speed;
    }
    send(to, std::move(record));
  }
}

}  // namespace autopilot::simulated_jobs
