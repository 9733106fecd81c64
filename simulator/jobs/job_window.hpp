// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "simulator/jobs/job_run.hpp"

namespace autopilot::simulated_jobs {

// Seconds of one window that all ranks of a job spend alike.
struct JobWindow {
  const JobRun* job = nullptr;
  double from = 0;
  float startup = 0, compile = 0, checkpoint = 0, evaluate = 0, load = 0, hang = 0, dead = 0, serve = 0;
  float train = 0;          // units of steps, with their communication
  float communication = 0;  // part of `train`
  float transfer = 0;       // seconds of communication at full speed: proportional to bytes
};

[[nodiscard]] JobWindow make_job_window(const JobRun& job, double from);

// Seconds of one window of one rank.
struct RankSplit {
  float busy = 0;  // computes
  float idle = 0;  // the GPU has no kernel
  float spin = 0;  // a kernel waits: for other ranks, or within the rank's own work
  float communication = 0;
  float work = 0;  // seconds of nominal work that were done: proportional to bytes between GPUs
};

// Of all that is in slices; startup, checkpoints and the like count as idle. A rank that computes longer than
// its peers spins less: that is the coupling of a synchronous job.
[[nodiscard]] RankSplit split(const JobWindow& window, int rank, Pcg& random);

// Mean power of a GPU once a second: `own` is the mean of the ranks' own(), levels are watts.
struct PowerLevels {
  float idle = 0, spin = 0, busy = 0;
  float hang = 0;   // while the job hangs
  float serve = 0;  // while replicas serve
};
[[nodiscard]] std::array<float, static_cast<std::size_t>(kWindow)> power_by_second(const JobWindow& window,
                                                                                   float own,
                                                                                   const PowerLevels& levels);

}  // namespace autopilot::simulated_jobs
