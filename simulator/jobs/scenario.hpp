// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/records.hpp"
#include "simulator/jobs/fault_types.hpp"

// What happens in a simulated cluster, decided before the first record. Times are seconds from its start.
namespace autopilot::simulated_jobs {

inline constexpr double kWindow = 10;  // seconds
inline constexpr int kGpus = 8;        // of a node; each has its own NIC
inline constexpr int kMaxNodes = 4096;
inline constexpr double kMaxHours = 24 * 31;

// What the job shows of its progress. Power always has the rhythm of the steps.
struct Progress {
  bool has_steps = false;       // of the job as a whole
  bool has_rank_steps = false;  // one rank of each node, each rank up to 128 ranks
  bool has_phases = false;
  bool has_collectives = false;  // every 15 s
  bool has_heartbeats = false;   // of one rank of each node, every 30 s, in a hang as well
};

// An interruption that comes again: every..., lasting..., both with a deviation of some per cent.
struct Recurring {
  double every = 0;  // seconds; 0: never
  double lasting = 0;
};

// The job leaves the cluster, and not because of a fault.
struct Ending {
  double at = 0;
  jobs::Outcome outcome = jobs::Outcome::completed;
};

struct JobPlan {
  std::string job = "ml/train-a";
  std::string name = "train";
  jobs::JobKind kind = jobs::JobKind::training;
  int first_node = 0;
  int nodes = 4;
  // Of the GPUs of its last node (or first, if `is_second`) the job has only the lower (upper) half.
  bool shares_node = false;
  bool is_second = false;
  Progress progress;

  double step = 4;                // seconds of compute of one step on a nominal GPU
  double communication = 0.15;    // fraction of it
  double own_noise = 0.005;       // deviation of one rank's time in one step
  std::vector<double> stages{1};  // work of each pipeline stage, relative; nodes are split evenly
  bool declares_roles = true;
  double gc_pauses = 0;  // probability of a pause of 0.2 to 2 s in a step
  Recurring checkpoint{1800, 45};
  Recurring evaluation;
  Recurring data_stall;
  double startup = 420;
  double compile = 0;
  double restart = 600;
  std::optional<double> watchdog = 600;
  std::optional<Ending> ending;
};

// A fault. It is moved to a later time if the job does not train at `at`.
struct PlannedFault {
  FaultClass fault_class{};
  double at = 0;
  double lasting = 1800;  // of classes with the effect slow
  double magnitude = 0;
  int job = 0;
  // Index in the cluster; for a leaf, one of its nodes. If a spare has replaced it, the fault hits the spare.
  int node = 0;
  int gpu = 0;                // index, and of its NIC
  bool has_trace = true;      // hang_link_equal_counts: the NIC counts retransmissions
  bool replaces_node = true;  // the job restarts without the node, if there is a spare
};

// Another job congests a leaf.
struct Congestion {
  double at = 0;
  double lasting = 0;
  int leaf = 0;
  double magnitude = 0;  // fraction by which communication gets longer
};

struct Scenario {
  std::string name;
  std::string title;
  std::uint64_t seed = 1;
  WallTime start{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
  double hours = 4;
  int nodes = 5;  // with spares; the last nodes are the spares
  int spares = 1;
  int nodes_of_leaf = 4;
  std::vector<JobPlan> jobs;
  std::vector<PlannedFault> faults;
  std::vector<Congestion> congestions;
  std::vector<Confounder> confounders;  // what the labels name

  double silicon = 0.01;     // deviation of clocks between GPUs
  double diurnal = 0;        // amplitude, fraction of the speed
  double rack_offset_c = 0;  // of every third leaf
  double missing_windows = 0;
  double clock_skew = 0;         // seconds
  double exporter_restarts = 0;  // a day and node
  std::vector<jobs::Metric> missing_columns;
  bool has_fast_power = true;

  [[nodiscard]] double seconds() const { return hours * 3600; }
};

struct ScenarioOptions {
  std::optional<int> nodes;     // of the job; otherwise 4, 16, 64 or 512 is drawn
  std::optional<double> hours;  // otherwise 24
  // 4.0 is the rate of the field (2 to 7). A benchmark needs more, so that short runs have enough faults.
  double faults_per_1000_node_days = 4;
  double missing_windows = -1;  // fraction; negative: drawn from 0.01 to 0.03
  // Only faults of these classes, with equal shares; empty: all. A class that the drawn job cannot have is
  // left out (those of inference in training, a leaf in a job of one leaf).
  std::vector<FaultClass> classes;
  std::optional<double> magnitude;    // of all faults that have one, instead of a drawn one
  std::optional<jobs::JobKind> kind;  // otherwise 15 % inference
};

// Draws a scenario. Equal arguments give equal scenarios on all machines. malformed: nodes, hours or the rate
// is out of range.
[[nodiscard]] Result<Scenario> make_scenario(std::uint64_t seed, const ScenarioOptions& options = {});

// One for each fault and each confounder, and a healthy one: 4 to 16 nodes, 2 to 6 hours.
[[nodiscard]] std::vector<Scenario> named_scenarios();
// not_found: the text names the command that lists them.
[[nodiscard]] Result<Scenario> named_scenario(std::string_view name);

}  // namespace autopilot::simulated_jobs
