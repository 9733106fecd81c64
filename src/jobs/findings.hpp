// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"

// What the in-flight engine reports.
namespace autopilot::jobs {

enum class EntityKind : std::uint8_t {
  unlocalised,  // something is wrong with the job, and nothing names a culprit
  program,      // the job's own program or data: no node is accused
  gpu,          // node, index
  nic,          // node, name
  host,         // node: its processors, memory, processes
  leaf,         // a switch and what is plugged into it; the name is in `node`
  storage,      // storage that several nodes share
};

// The culprit of a finding.
struct Entity {
  EntityKind kind = EntityKind::unlocalised;
  std::string node;  // for a leaf: its name; else empty if the kind has no node
  int gpu = -1;      // index; -1 if the kind is not gpu
  std::string nic;

  // True if the finding names a machine: what an operator would cordon.
  [[nodiscard]] bool is_accused() const {
    return kind == EntityKind::gpu || kind == EntityKind::nic || kind == EntityKind::host ||
           kind == EntityKind::leaf;
  }
  friend auto operator<=>(const Entity&, const Entity&) = default;
};

// "GPU 3 of gpu-001", "mlx5_0 of gpu-001", "node gpu-001", "leaf leaf-1", "the program", "unlocalised".
[[nodiscard]] std::string to_string(const Entity& entity);

// What happens to the job.
enum class Effect : std::uint8_t {
  none,        // an accused part that does not slow the job yet
  slow,        // a culprit slows the job
  regression,  // the job got slower as a whole
  hang,        // no step ends
  crash,       // ranks ended
};
[[nodiscard]] std::string_view to_string(Effect effect);

enum class Severity : std::uint8_t { info, ticket, page };
[[nodiscard]] std::string_view to_string(Severity severity);

// Families of evidence: signals of one family are not independent, so only the strongest of a family counts.
enum class Family : std::uint8_t { ecc, clock, pcie, nvlink, nic, host, progress, history };
[[nodiscard]] std::string_view to_string(Family family);

// One piece of evidence for or against a culprit.
struct Evidence {
  Family family = Family::progress;
  std::string signal;  // key of the likelihood table, such as "sm_clock_low"
  std::string text;    // one sentence with own value, median of the peers, threshold
  std::optional<double> value, peers, threshold;
  double log_odds = 0;  // what it adds; set by fuse()
  WallTime time{};
};

enum class Choice : std::uint8_t { keep_running, swap_at_checkpoint, stop_now, restart_in_place };
[[nodiscard]] std::string_view to_string(Choice choice);

// The inputs and the result of the decision. Losses and times in hours of the job's wall time.
struct Decision {
  Choice choice = Choice::keep_running;
  bool is_recommendation = true;  // false: the guard rails allow to act
  double loss_continue = 0, loss_checkpoint = 0, loss_now = 0;
  double since_checkpoint = 0;  // L
  double to_checkpoint = 0;     // tau
  double restart = 0;           // R
  double goodput_loss = 0;      // g, 0..1
  double probability = 0;       // p, that the culprit is right
  double horizon = 0;           // H, until an interruption that excludes the node at no cost
  std::string because;          // one sentence: what decided, or which guard rail limits it
};

// A finding about a job, from its detection to its end. Its identity is `id`.
struct JobFinding {
  std::string id;  // stable: job, effect, culprit, onset
  std::string job;
  Effect effect = Effect::none;
  Entity culprit;
  std::vector<int> ranks;  // ranks of the job on the culprit, or that are behind
  std::string cause;       // key: causes.hpp
  Severity severity = Severity::info;
  double probability = 0;  // that the culprit is right, 0..1
  WallTime onset{};
  WallTime detected{};
  std::optional<WallTime> resolved;
  std::optional<double> slowdown;  // fraction by which steps are longer; 0.1: ten per cent
  std::string summary;             // one sentence for a person
  std::vector<Evidence> evidence;  // strongest first
  std::vector<std::string> ruled_out;
  Decision decision;
  std::string weights;  // version of the learned weights of signals in use; empty: the values that ship
  // False: an earlier evaluation found it, and no window has confirmed it since then. It never acts.
  bool is_confirmed = true;
};

enum class JobHealth : std::uint8_t { unknown, starting, running, slow, stalled, hung, ended };
[[nodiscard]] std::string_view to_string(JobHealth health);

struct JobState {
  std::string job;
  std::string name;
  JobHealth health = JobHealth::unknown;
  int attempt = 1;
  int ranks = 0;
  int nodes = 0;
  std::optional<double> step_s;      // median of the last minutes
  std::optional<std::int64_t> step;  // the last that ended
  std::optional<WallTime> last_step;
  std::optional<WallTime> last_checkpoint;      // the last end that was seen
  std::optional<double> checkpoint_interval_s;  // learned, or stated by the job
  std::string progress_source;        // "steps", "collectives", "serving", "power rhythm"; empty: none
  std::vector<std::string> not_seen;  // sources that are missing, for a person
};

}  // namespace autopilot::jobs
