// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/records.hpp"
#include "simulator/jobs/pcg.hpp"
#include "simulator/jobs/scenario.hpp"

namespace autopilot::simulated_jobs {

enum class Activity : std::uint8_t { startup, compile, train, checkpoint, evaluate, load, hang, dead, serve };

// A part of the job's time. All ranks are in the same slice: they wait for each other at its end.
struct Slice {
  Activity activity = Activity::dead;
  double begin = 0, end = 0;
  // train: a rank computes for work * RankRun::own() seconds, waits until begin + slowest, and communicates.
  double work = 0;
  double slowest = 0;
  double communication = 0;
  double transfer = 0;   // seconds that the communication takes without faults
  int paused_rank = -1;  // a rank that stops for `pause` seconds before it computes
  double pause = 0;
};

// What a rank does in a hang.
enum class HangRole : std::uint8_t { spins, is_idle, is_stopped, sleeps_on_disk, is_gone };

struct RankRun {
  int node = 0;  // index in the cluster
  int gpu = 0;
  int stage = 0;
  float healthy = 1;  // seconds for one second of nominal work: stage and silicon
  // Faults: the clock's fraction; added seconds of an idle GPU and of a GPU that waits inside its own work.
  float clock = 1, idle = 0, spin = 0;
  HangRole role = HangRole::spins;
  float load = 0;  // serve: fraction of the time in which the replica computes
  bool is_hung = false;
  float replica_clock = 1;  // of the slowest GPU of the replica

  [[nodiscard]] float slowness() const { return 1 / clock + idle + spin; }
  [[nodiscard]] float own() const { return healthy * slowness(); }
};

// A hang or crash, from its onset to the restart of the job.
struct Stop {
  PlannedFault fault;
  int rank = -1;  // the culprit's
  double onset = 0;
  double exits = 0;    // the ranks end
  double restart = 0;  // the next attempt starts
};

// What surrounds a job in one window.
struct JobSurroundings {
  double communication = 1;  // factor of the time of communication
  double load = 0;           // storage: fraction of a step that all ranks wait for data
  double flap_wait = 0;      // seconds that the next communication gets longer
  double speed = 1;          // factor of all clocks: the time of day
  bool has_nan = false;      // the loss is not a number
};

// One job: its steps, its interruptions and its progress.
class JobRun {
 public:
  // `silicon`: clock of each GPU of the cluster relative to nominal, kGpus for a node.
  JobRun(const Scenario& scenario, int index, std::span<const float> silicon);

  // Slices and records from `from` to `to`. `spares` are nodes that a restart may take.
  void advance(double from, double to, const JobSurroundings& around, std::vector<int>& spares,
               std::vector<jobs::Record>& out);

  [[nodiscard]] const JobPlan& plan() const { return plan_; }
  [[nodiscard]] std::span<const Slice> slices() const { return slices_; }
  [[nodiscard]] std::span<const RankRun> ranks() const { return ranks_; }
  [[nodiscard]] std::optional<int> rank_at(int node, int gpu) const;
  // The node that is now in the place of a planned one: itself, or the spare that replaced it.
  [[nodiscard]] int present(int planned_node) const;
  [[nodiscard]] bool has_node(int node) const;
  [[nodiscard]] bool is_training() const { return is_training_; }
  // Counts starts: the ranks may be on other nodes afterwards.
  [[nodiscard]] int attempt() const { return attempt_; }
  [[nodiscard]] const std::optional<Stop>& stop() const { return stop_; }
  // Hangs and crashes that have begun; each once.
  [[nodiscard]] std::vector<Stop> take_stops();

  // Faults of ranks; they hold until clear_faults().
  void slow(int rank, float clock, float idle, float spin);
  void hang_replica(int node);
  void clear_faults();
  // Mean seconds of a step with the present faults.
  [[nodiscard]] double expected_step(const JobSurroundings& around) const;

  [[nodiscard]] WallTime wall(double at) const;

 private:
  struct Due {
    double at = 0;
    std::uint64_t order = 0;
    jobs::Record record;
  };

  void place(std::span<const int> nodes);
  void draw_maxima();
  Slice next_slice(const JobSurroundings& around);
  Slice train(const JobSurroundings& around);
  std::optional<Slice> interrupt(Recurring recurring, double& next, Activity activity);
  Slice begin(Activity activity, double lasting);
  void end_of(const Slice& slice, const JobSurroundings& around);

  [[nodiscard]] std::optional<double> next_stop() const;
  void begin_stop(double at);
  void send_exits(const Stop& stop);
  void restart(std::vector<int>& spares);
  void end_job(Ending ending);
  void set_roles(bool is_stopped);

  void send(double at, jobs::Record record);
  void send_start(double at);
  void send_phase(double at, jobs::Phase phase, jobs::Edge edge);
  void send_step(double at, bool has_nan);
  void send_collectives(double at);
  [[nodiscard]] jobs::Communicator communicator(int stage, double at);
  void send_heartbeats(double at);
  void send_serving(double from, double to);
  void flush(double to, std::vector<jobs::Record>& out);

  const Scenario& scenario_;
  JobPlan plan_;
  std::span<const float> silicon_;
  Pcg random_;
  std::vector<RankRun> ranks_;
  std::vector<int> nodes_;
  std::vector<int> slowed_;    // ranks with a fault
  std::vector<float> maxima_;  // samples of the slowest healthy rank's time
  std::vector<Slice> slices_;
  std::vector<Due> due_;
  std::uint64_t order_ = 0;

  double clock_ = 0;            // end of the last slice
  std::vector<Activity> next_;  // activities before the training, last first
  bool is_training_ = false;
  bool has_ended_ = false;
  double training_since_ = 0;
  double next_checkpoint_ = 0, next_evaluation_ = 0, next_stall_ = 0, next_collectives_ = 0,
         next_heartbeats_ = 0;
  int unit_ = 0;
  int units_ = 1;  // a step is computed in units of about 3 s
  double step_begin_ = 0;
  double pending_load_ = 0;
  double flap_seen_ = 0;
  std::int64_t step_ = 0, saved_step_ = 0;
  std::int64_t world_count_ = 0, stage_count_ = 0;
  int attempt_ = 0;
  std::vector<PlannedFault> stops_;  // that have not begun, first first
  std::optional<Stop> stop_;
  std::vector<Stop> begun_;
};

}  // namespace autopilot::simulated_jobs
