// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/engine.hpp"

// A job for tests of the engine.
namespace autopilot::jobs::engine_test {

inline constexpr WallTime kStart{std::chrono::hours(500000)};
inline constexpr int kNodes = 4;
inline constexpr int kGpus = 8;
inline constexpr double kStep = 5;

inline std::string node_name(int node) {
  return "n" + std::to_string(node);
}

// A training job on four nodes, with a little noise that is equal in each run.
class Job {
 public:
  // Changes the window of a node before the engine gets it.
  using Change = std::function<void(int node, WindowRecord& window)>;

  explicit Job(EngineOptions options = {}, bool has_gpus = true) : engine_(options), has_gpus_(has_gpus) {
    for (int node = 0; node < kNodes; ++node) {
      NodeRecord record;
      record.time = kStart;
      record.node = node_name(node);
      record.gpus = kGpus;
      record.idle_w = 90;
      record.spin_w = 230;
      record.busy_w = 640;
      engine_.add(record);
    }
    start(1);
  }

  void start(int attempt) {
    JobRecord job;
    job.time = now_;
    job.job = "a";
    job.attempt = attempt;
    job.watchdog = std::chrono::minutes(30);
    for (int rank = 0; rank < kNodes * kGpus; ++rank)
      job.ranks.push_back({.rank = rank,
                           .node = node_name(rank / kGpus),
                           .gpu = has_gpus_ ? std::optional(rank % kGpus) : std::nullopt,
                           .role = "dp"});
    engine_.add(job);
  }

  // has_steps: steps end; otherwise the job makes no progress.
  void run(int minutes, bool has_steps, const Change& change = {}) {
    for (int slot = 0; slot < 6 * minutes; ++slot) {
      for (int node = 0; node < kNodes; ++node) {
        WindowRecord window = window_of(node);
        if (change) change(node, window);
        engine_.add(window);
      }
      now_ += std::chrono::seconds(10);
      for (int step = 0; step < 2 && has_steps; ++step)
        engine_.add(StepRecord{.time = now_ - std::chrono::seconds(5 - 5 * step),
                               .job = "a",
                               .step = ++step_,
                               .step_s = step_s_ * noise()});
      engine_.advance(now_);
      for (JobFinding& finding : engine_.take())
        findings_.push_back(std::move(finding));
    }
  }

  void slow_down(double factor) { step_s_ *= factor; }

  Engine& engine() { return engine_; }
  WallTime now() const { return now_; }
  const std::vector<JobFinding>& findings() const { return findings_; }
  JobState state() const { return engine_.jobs().at(0); }

 private:
  WindowRecord window_of(int node) {
    WindowRecord window;
    window.time = now_ + std::chrono::seconds(10);
    window.length = std::chrono::seconds(10);
    window.node = node_name(node);
    Column power{Metric::gpu_power_w, {}}, clock{Metric::gpu_sm_clock_mhz, {}}, util{Metric::gpu_util, {}},
        tensor{Metric::gpu_tensor, {}}, nvlink{Metric::gpu_nvlink_bytes_s, {}},
        stopped{Metric::process_stopped, {}}, cpu{Metric::process_cpu, {}};
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      window.gpus.push_back(gpu);
      window.processes.push_back({"a", node * kGpus + gpu});
      power.values.push_back(static_cast<float>(600 * noise()));
      clock.values.push_back(static_cast<float>(1750 * noise()));
      util.values.push_back(0.99F);
      tensor.values.push_back(static_cast<float>(0.4 * noise()));
      nvlink.values.push_back(static_cast<float>(1e11 * noise()));
      stopped.values.push_back(0);
      cpu.values.push_back(static_cast<float>(noise()));
    }
    const Column storage{Metric::host_storage_read_bytes_s, {static_cast<float>(1e6 * noise())}};
    window.columns = {stopped, cpu, storage};
    if (has_gpus_)
      window.columns.insert(window.columns.end(), {power, clock, util, tensor, nvlink});
    else
      window.gpus.clear();
    return window;
  }

  // 1 +- 1 %
  double noise() {
    seed_ = seed_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return 1 + 0.02 * (static_cast<double>(seed_ >> 40) / static_cast<double>(1ULL << 24) - 0.5);
  }

  Engine engine_;
  bool has_gpus_;
  WallTime now_ = kStart;
  std::int64_t step_ = 0;
  double step_s_ = kStep;
  std::uint64_t seed_ = 7;
  std::vector<JobFinding> findings_;
};

inline std::vector<float>& column(WindowRecord& window, Metric metric) {
  for (Column& held : window.columns)
    if (held.metric == metric) return held.values;
  window.columns.push_back({metric, std::vector<float>(window.gpus.size(), kMissing)});
  return window.columns.back().values;
}

}  // namespace autopilot::jobs::engine_test
