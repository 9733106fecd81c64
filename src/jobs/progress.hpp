// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "jobs/records.hpp"

namespace autopilot::jobs {

// How far a job got, by the records that say so.
enum class ProgressSource : std::uint8_t { none, activity, collectives, serving, steps };
// "GPU activity", "collectives", "serving", "steps"; empty for none.
[[nodiscard]] std::string_view to_string(ProgressSource source);

// The time between two steps, and the phase in which it was spent.
struct Gap {
  Phase phase = Phase::train;
  double seconds = 0;
};

// Steps, phases and checkpoints of one job, in the order of their records. Bounded: at most kMaxSteps step
// times of a minute are kept.
class Progress {
 public:
  static constexpr std::size_t kMaxSteps = 256;
  // Steps after a start that are not typical: memory is allocated, kernels are compiled.
  static constexpr int kWarmUpSteps = 20;

  void start(const JobRecord& job);
  void add(const StepRecord& step);
  void add(const PhaseRecord& phase);
  void add(const ServingRecord& serving);
  // Collectives of the job were started since the last record.
  void add_collectives(WallTime time);
  // Most GPUs of the job compute.
  void add_activity(WallTime time);

  [[nodiscard]] ProgressSource source() const { return source_; }
  [[nodiscard]] std::optional<WallTime> last_advance() const { return last_advance_; }
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }
  [[nodiscard]] bool is_warm() const { return steps_since_start_ > kWarmUpSteps; }
  [[nodiscard]] WallTime started() const { return started_; }
  // The phase that the job states; train if it states nothing.
  [[nodiscard]] Phase phase() const;
  // A phase other than training began or ended since `begin`.
  [[nodiscard]] bool has_other_phase_since(WallTime begin) const;
  [[nodiscard]] bool states_phases() const { return states_phases_; }

  // Median time of the steps that ended since the last call, in seconds, and their median number of tokens.
  struct Minute {
    std::optional<double> step_s;
    std::optional<double> tokens;
  };
  [[nodiscard]] Minute take_minute();
  // Gaps that ended since the last call.
  [[nodiscard]] std::vector<Gap> take_gaps();

  [[nodiscard]] std::optional<WallTime> last_checkpoint() const { return last_checkpoint_; }
  [[nodiscard]] std::optional<double> checkpoint_interval_s() const { return checkpoint_interval_s_; }
  [[nodiscard]] std::optional<double> checkpoint_cost_s() const { return checkpoint_cost_s_; }
  // Since when the loss is not a number.
  [[nodiscard]] std::optional<WallTime> loss_is_nan() const { return loss_is_nan_; }
  // Requests wait or run. Not set: no serving record.
  [[nodiscard]] std::optional<bool> has_requests() const { return has_requests_; }

 private:
  void advance(WallTime time);
  void end_checkpoint(const PhaseRecord& end);
  [[nodiscard]] Phase phase_since(WallTime begin) const;

  WallTime started_{};
  ProgressSource source_ = ProgressSource::none;
  std::optional<WallTime> last_advance_;
  std::optional<std::int64_t> step_;
  std::optional<WallTime> step_time_;
  int steps_since_start_ = 0;
  std::vector<double> step_times_;
  std::vector<double> tokens_;
  std::vector<Gap> gaps_;
  int open_phases_[6] = {};
  std::optional<WallTime> last_other_time_;
  Phase last_other_ = Phase::train;
  bool states_phases_ = false;
  std::optional<WallTime> checkpoint_begin_, last_checkpoint_;
  // The first end of the last checkpoint; its other ranks end it as well.
  std::optional<WallTime> first_end_;
  std::optional<int> first_rank_;
  std::optional<double> checkpoint_interval_s_, checkpoint_cost_s_;
  std::optional<WallTime> loss_is_nan_;
  std::optional<bool> has_requests_;
};

}  // namespace autopilot::jobs
