// SPDX-License-Identifier: Apache-2.0
#include "jobs/progress.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace autopilot::jobs {
namespace {

constexpr std::array kOtherPhases{Phase::startup, Phase::compile, Phase::checkpoint, Phase::evaluate,
                                  Phase::load};

std::optional<double> median_of(std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The ranks of one checkpoint end within it: a job that saves more often has the same rank first, which
// counts.
constexpr Duration kSameCheckpoint = std::chrono::minutes(5);

// An estimate that follows the last values: half of it is younger than two of them.
void follow(std::optional<double>& estimate, double value) {
  estimate = estimate ? *estimate + 0.3 * (value - *estimate) : value;
}

}  // namespace

std::string_view to_string(ProgressSource source) {
  switch (source) {
    case ProgressSource::none:
      return "";
    case ProgressSource::activity:
      return "GPU activity";
    case ProgressSource::steps:
      return "steps";
    case ProgressSource::serving:
      return "serving";
    case ProgressSource::collectives:
      return "collectives";
  }
  return "";
}

void Progress::start(const JobRecord& job) {
  const auto interval = checkpoint_interval_s_;
  const auto cost = checkpoint_cost_s_;
  const ProgressSource source = source_;
  *this = Progress{};
  started_ = job.time;
  // A job that reported steps will report them again: until then it has not started.
  source_ = source;
  checkpoint_interval_s_ =
      job.checkpoint_interval ? std::optional(to_seconds(*job.checkpoint_interval)) : interval;
  checkpoint_cost_s_ = job.checkpoint_cost ? std::optional(to_seconds(*job.checkpoint_cost)) : cost;
}

void Progress::advance(WallTime time) {
  if (last_advance_ && time <= *last_advance_) return;
  if (last_advance_ && gaps_.size() < kMaxSteps)
    gaps_.push_back({phase_since(*last_advance_), to_seconds(time - *last_advance_)});
  last_advance_ = time;
}

void Progress::add(const StepRecord& step) {
  source_ = ProgressSource::steps;
  if (step.loss && std::isnan(*step.loss)) {
    if (!loss_is_nan_) loss_is_nan_ = step.time;
  } else if (step.loss) {
    loss_is_nan_.reset();
  }
  if (step_ && step.step <= *step_) return;
  std::optional<double> seconds = step.step_s;
  if (!seconds && step_ && step_time_ && step.time > *step_time_)
    seconds = to_seconds(step.time - *step_time_) / static_cast<double>(step.step - *step_);
  advance(step.time);
  step_ = step.step;
  step_time_ = step.time;
  ++steps_since_start_;
  if (!is_warm() || phase() != Phase::train) return;
  if (seconds && *seconds > 0 && step_times_.size() < kMaxSteps) step_times_.push_back(*seconds);
  if (step.tokens && *step.tokens > 0 && tokens_.size() < kMaxSteps) tokens_.push_back(*step.tokens);
}

void Progress::add(const PhaseRecord& record) {
  states_phases_ = true;
  int& open = open_phases_[static_cast<std::size_t>(record.phase)];
  open = record.edge == Edge::begin ? open + 1 : std::max(0, open - 1);
  if (record.phase != Phase::train) {
    last_other_time_ = record.time;
    last_other_ = record.phase;
  }
  if (record.phase != Phase::checkpoint) return;
  if (record.edge == Edge::begin) {
    if (open == 1) checkpoint_begin_ = record.time;
    return;
  }
  if (open > 0) return;
  if (checkpoint_begin_ && record.time > *checkpoint_begin_)
    follow(checkpoint_cost_s_, to_seconds(record.time - *checkpoint_begin_));
  checkpoint_begin_.reset();
  end_checkpoint(record);
}

void Progress::end_checkpoint(const PhaseRecord& end) {
  last_checkpoint_ = std::max(last_checkpoint_.value_or(end.time), end.time);
  const bool is_of_last = first_end_ && end.rank != first_rank_ && end.time < *first_end_ + kSameCheckpoint;
  if (is_of_last) return;
  if (first_end_ && end.time > *first_end_)
    follow(checkpoint_interval_s_, to_seconds(end.time - *first_end_));
  first_end_ = end.time;
  first_rank_ = end.rank;
}

void Progress::add(const ServingRecord& serving) {
  source_ = ProgressSource::serving;
  has_requests_ = serving.running + serving.waiting > 0;
  // An idle server is not stalled.
  if (!*has_requests_ || serving.tokens_s.value_or(0) > 0 || serving.requests_s.value_or(0) > 0)
    advance(serving.time);
}

void Progress::add_collectives(WallTime time) {
  if (source_ > ProgressSource::collectives) return;
  source_ = ProgressSource::collectives;
  advance(time);
}

void Progress::add_activity(WallTime time) {
  if (source_ > ProgressSource::activity) return;
  source_ = ProgressSource::activity;
  advance(time);
}

Phase Progress::phase_since(WallTime begin) const {
  if (const Phase now = phase(); now != Phase::train) return now;
  return last_other_time_ && *last_other_time_ >= begin ? last_other_ : Phase::train;
}

Phase Progress::phase() const {
  for (const Phase other : kOtherPhases)
    if (open_phases_[static_cast<std::size_t>(other)] > 0) return other;
  return Phase::train;
}

bool Progress::has_other_phase_since(WallTime begin) const {
  return phase() != Phase::train || (last_other_time_ && *last_other_time_ >= begin);
}

Progress::Minute Progress::take_minute() {
  Minute minute{median_of(step_times_), median_of(tokens_)};
  step_times_.clear();
  tokens_.clear();
  return minute;
}

std::vector<Gap> Progress::take_gaps() {
  return std::exchange(gaps_, {});
}

}  // namespace autopilot::jobs
