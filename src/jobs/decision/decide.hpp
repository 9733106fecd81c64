// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "jobs/detectors/events.hpp"
#include "jobs/findings.hpp"

// What to do about a finding: the action with the least expected loss of the job's time.
namespace autopilot::jobs {

// What the decision may lead to. observe and recommend differ in what is sent to people; neither acts.
enum class Mode : std::uint8_t { observe, recommend, act };

struct Policy {
  Mode mode = Mode::recommend;
  double p_checkpoint = 0.6;  // probability of the culprit from which a node is swapped at a checkpoint
  double p_now = 0.9;         // and from which a job is stopped
  double margin = 0.8;        // an action must lose less than this part of what waiting loses
  // Interruptions of jobs by failures, per 1,000 node-days. 6.5: Meta's clusters; 2.34: their newer ones.
  double failures_per_1000_node_days = 6.5;
};

// Facts that overrule the comparison of losses.
enum class Situation : std::uint8_t {
  usual,
  fatal,              // a part of the job's machine does not work any more
  contained,          // a contained memory error: one process ended, the GPU works
  application,        // an error of the program: no node is at fault
  processor_wait,     // a limit of the job itself, which follows it to another node
  loss_not_a_number,  // what the job computes is wrong, for an unknown reason
};

// What the root of a failure, or an event on the culprit, means for the decision. fatal: a hardware Xid or a
// lost node; a link that is down or a finding of the agent may leave the job running.
[[nodiscard]] Situation situation_of(const Event& event);

// Times in hours. Not set, or not a finite number of 0 or more: unknown.
struct DecisionInputs {
  Effect effect = Effect::slow;
  Situation situation = Situation::usual;
  Entity culprit;
  double probability = 0;  // that the culprit is right; NaN: 0
  // For a hang: that the job hangs, instead of a long but healthy gap. Not set: `probability`.
  std::optional<double> hang_probability;
  std::optional<double> goodput_loss;         // g: part of the job's speed that is lost, 0..1
  std::optional<double> since_checkpoint;     // L
  std::optional<double> checkpoint_interval;  // delta. Unknown: 1 h is assumed
  std::optional<double> checkpoint_cost;      // w. Unknown: 0
  std::optional<double> restart;              // R. Unknown: 0.25 h
  std::optional<double> remaining;            // T. Unknown: 14 d
  std::optional<double> watchdog;             // after which the job ends itself
  std::optional<double> stalled;              // time since the last progress, for a hang
  std::optional<double> spare_wait;           // W, if no spare is ready. Unknown: 1 h
  double extra_hazard = 0;                    // h: failures an hour that the culprit adds
  int nodes = 1;                              // of the job
  int spares = 0;
  bool hears_of_checkpoints = false;  // checkpoints were reported: the next one can be waited for
};

// Part of the speed that is lost if steps are longer by `slowdown` (0.1: ten per cent); 0 for a value that is
// negative or not finite.
[[nodiscard]] double goodput_loss_of(double slowdown);

// Hours until an interruption that excludes a node at no further cost: (1 - exp(-rate T)) / rate.
[[nodiscard]] double free_swap_horizon(const Policy& policy, int nodes, double remaining_hours);

// Never acts on what is unknown: without a known g or a culprit, a slow job continues. The result is only a
// recommendation unless the mode is `act` and every input that decides is known. For a hang, the losses
// compare waiting (loss_continue, loss_checkpoint) with stopping; the work since the checkpoint is lost
// either way.
[[nodiscard]] Decision decide(const DecisionInputs& inputs, const Policy& policy);

}  // namespace autopilot::jobs
