// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "jobs/detectors/collectives.hpp"
#include "jobs/detectors/gaps.hpp"
#include "jobs/detectors/gpu_activity.hpp"
#include "jobs/detectors/localise.hpp"
#include "jobs/detectors/network.hpp"
#include "jobs/detectors/stall.hpp"
#include "jobs/job_context.hpp"

namespace autopilot::jobs {

// Whether one job hangs, and because of what.
class HangWatch {
 public:
  // A new attempt. What was learned of gaps and power is kept.
  void start();
  // True if ranks started collectives since the last record.
  bool add(const CollectivesRecord& record);
  // A time without progress that ended. It teaches nothing if it was a hang.
  void add(const Gap& gap);
  // Every 10 s.
  void tick(const JobContext& job, WallTime now);

  [[nodiscard]] const StallStatus& status() const { return stall_.status(); }
  // Most GPUs compute, by the newest windows. nullopt: too few are known.
  [[nodiscard]] std::optional<bool> is_computing() const;
  [[nodiscard]] std::optional<double> collectives_per_s(WallTime now) const {
    return collectives_.status(now).rate_per_s;
  }
  // Whose fault a suspected or confirmed hang is.
  [[nodiscard]] HangCulprit culprit(const JobContext& job, const std::vector<NetworkFinding>& network,
                                    WallTime now) const;
  // That a job without progress for `age_s` hangs, by its own gaps.
  [[nodiscard]] double probability(double age_s) const;

 private:
  struct Traffic {
    double sum = 0;
    std::size_t known = 0, expected = 0;
    void add(float value);
    // Scaled to what is expected; nullopt if less than half is known.
    [[nodiscard]] std::optional<double> total() const;
  };

  void read_gpus(const JobContext& job, WallTime now);
  [[nodiscard]] bool is_only_waiting(const StallSigns& signs) const;
  void read_traffic(const JobContext& job, WallTime now, StallSigns& signs) const;
  void read_processes(const JobContext& job, WallTime now, StallSigns& signs);
  void judge_work(const JobContext& job, StallSigns& signs) const;
  void read_progress(const JobContext& job, WallTime now, StallSigns& signs) const;

  StallDetector stall_;
  CollectiveTracker collectives_;
  std::array<GapModel, 6> gaps_;  // by phase
  OwnHistory running_power_;
  OwnHistory running_cpu_;                  // of the median rank, while steps end
  std::vector<GpuActivity> activities_;     // by member
  std::vector<std::optional<bool>> awake_;  // by member: its processes take processor time or move bytes
  std::optional<double> quiet_share_;
  std::optional<WallTime> counted_;  // newest growth of a count
};

}  // namespace autopilot::jobs
