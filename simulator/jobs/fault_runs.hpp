// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include "jobs/labels.hpp"
#include "jobs/records.hpp"
#include "simulator/jobs/job_run.hpp"
#include "simulator/jobs/scenario.hpp"

namespace autopilot::simulated_jobs {

// What the telemetry of a part shows of faults. Counts are means in one window.
struct GpuEffect {
  bool is_lost = false;
  float clock = 1;
  float heat_c = 0;
  float throttle_thermal = 0, throttle_hw = 0, throttle_brake = 0;
  float pcie_width = 16;
  float pcie_replays = 0, nvlink_errors = 0;
};

struct NicEffect {
  float up = 1;
  float rate = 1;            // fraction of the line rate
  bool is_rerouted = false;  // its traffic goes through the neighbour
  bool carries_double = false;
  float downed = 0;
  float retransmits = 0, errors = 0, cnp = 0, pause = 0;
};

struct HostEffect {
  float cpu = 0;  // added share
  float run_queue = 0;
  float psi_cpu = 0, psi_io = 0, psi_memory = 0;
  float storage = 1;  // factor of the traffic
};

struct NodeEffects {
  bool is_lost = false;
  std::array<GpuEffect, kGpus> gpus;
  std::array<NicEffect, kGpus> nics;
  HostEffect host;
};

// Begins and ends the faults of a scenario, window by window, and writes their labels.
class FaultRuns {
 public:
  explicit FaultRuns(const Scenario& scenario);

  // Sets the faults of the window that begins at `from`: effects on parts, ranks and jobs. Call it before the
  // jobs advance.
  void update(double from, std::span<JobRun> jobs, std::vector<jobs::Record>& out);
  // Takes over the hangs and crashes that began in the window. Call it after the jobs advanced.
  void add_stops(std::span<JobRun> jobs);
  // Ends what still lasts.
  void finish(double at);

  [[nodiscard]] const NodeEffects& of(int node) const { return effects_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const JobSurroundings& around(std::size_t job) const { return around_[job]; }
  // Without the labels of faults that did not begin.
  [[nodiscard]] const jobs::Labels& labels() const { return labels_; }

 private:
  struct Active {
    PlannedFault fault;
    double begin = 0, end = 0;
    std::size_t label = 0;
    double next_flap = 0;
  };

  void begin_due(double from, std::span<JobRun> jobs, std::vector<jobs::Record>& out);
  void apply_due_congestions(double from, std::span<JobRun> jobs);
  void apply(Active& active, double from, std::span<JobRun> jobs, std::vector<jobs::Record>& out);
  void apply_to_gpu(const PlannedFault& fault, double ramp, JobRun& job);
  void apply_to_network(Active& active, double from, JobRun& job, JobSurroundings& around,
                        std::vector<jobs::Record>& out);
  void apply_to_host(const PlannedFault& fault, JobRun& job, JobSurroundings& around);
  void apply_to_leaf(const PlannedFault& fault, bool is_congestion);
  void apply_stop(const Stop& stop);
  void slow_node(JobRun& job, int node, float clock, float idle, float spin);
  void begin_label(Active& active, double from, const JobRun& job);
  void label_confounders();
  void end_label(std::size_t label, double at);
  [[nodiscard]] int leaf_of(int node) const { return node / scenario_.nodes_of_leaf; }
  [[nodiscard]] WallTime wall(double at) const;
  NodeEffects& at(int node) { return effects_[static_cast<std::size_t>(node)]; }

  const Scenario& scenario_;
  std::vector<PlannedFault> planned_;  // timed faults that have not begun, first first
  std::vector<Active> active_;
  std::vector<Stop> stops_;  // from the onset to the restart; a lost part remains lost until then
  std::vector<NodeEffects> effects_;
  std::vector<JobSurroundings> around_;
  jobs::Labels labels_;
};

}  // namespace autopilot::simulated_jobs
