// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "jobs/records.hpp"
#include "simulator/jobs/fault_runs.hpp"
#include "simulator/jobs/job_window.hpp"
#include "simulator/jobs/pcg.hpp"
#include "simulator/jobs/scenario.hpp"

namespace autopilot::simulated_jobs {

// Levels of an H100 SXM: assumptions, to be measured once for a model.
inline constexpr double kIdleWatts = 90, kSpinWatts = 230, kBusyWatts = 640;
inline constexpr double kNicBytes = 50e9;  // bytes a second
inline constexpr float kClockMhz = 1755;

// The rank that uses a GPU; job -1: none.
struct Seat {
  int job = -1;
  int rank = 0;
};
using Seats = std::array<Seat, kGpus>;

// The telemetry of one node, window by window.
class NodeRun {
 public:
  NodeRun(const Scenario& scenario, int node, std::span<const float> silicon);

  // The window that begins at `from`; nullopt: it is missing. `jobs` are the windows of all jobs.
  [[nodiscard]] std::optional<jobs::WindowRecord> window(double from, const NodeEffects& effects,
                                                         const Seats& seats, std::span<const JobWindow> jobs);

 private:
  static constexpr std::size_t kMetrics = jobs::kMetrics.size();
  // Values of one window: [metric][row].
  using Values = std::array<std::array<float, kGpus>, kMetrics>;
  struct Gpu {
    float clock = 1;  // silicon
    float temp_c = 30;
    // Lasting differences from the others, without a fault.
    float power = 1;
    float warmer_c = 0;
    float cpu = 1;
    float mem_bytes = 0;
    bool has_ecc = false;
    int burst = 0;  // windows
  };

  void fill_gpu(std::size_t gpu, const NodeEffects& effects, const RankSplit& split, const JobWindow* job,
                int stage);
  void fill_heat(std::size_t gpu, const GpuEffect& effect, float power);
  void fill_process(std::size_t row, const HostEffect& host, const JobWindow& job, HangRole role,
                    float factor);
  void fill_nic(std::size_t nic, const NicEffect& effect, float bytes_s);
  void fill_host(const HostEffect& host, std::span<const JobWindow> jobs, const Seats& seats);
  void add_background();
  void add_fast(const NodeEffects& effects, const Seats& seats, std::span<const JobWindow> jobs,
                jobs::WindowRecord& out);
  void take_columns(jobs::WindowRecord& out, std::size_t processes);
  void begin_bursts();
  float count(float mean);
  float& value(jobs::Metric metric, std::size_t row) {
    return values_[static_cast<std::size_t>(metric)][row];
  }

  const Scenario& scenario_;
  int node_;
  Pcg random_;
  std::array<Gpu, kGpus> gpus_;
  std::array<bool, kMetrics> is_missing_{};
  double skew_ = 0;
  float inlet_offset_ = 0;
  float inlet_ = 22;
  float daemons_ = 0;   // share of the processors
  int busy_ = 0;        // windows that a short program of the system still runs
  float busy_cpu_ = 0;  // its share of the processors
  int repeats_ = 0;     // windows in which `repeating_` still repeats packets, without an effect on the job
  std::size_t repeating_ = 0;
  Values values_{};
};

}  // namespace autopilot::simulated_jobs
