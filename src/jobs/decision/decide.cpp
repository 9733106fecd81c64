// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/decide.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace autopilot::jobs {
namespace {

constexpr double kRestartHours = 0.25;       // if the job's own restarts were not seen
constexpr double kRemainingHours = 14 * 24;  // if the end of the job is unknown
constexpr double kIntervalHours = 1;         // assumption, if no checkpoint was seen
constexpr double kSpareWaitHours = 1;        // assumption: a node must be repaired or bought
constexpr double kCrashHours = 0.17;         // from a fault to the end of the job: watchdog of 10 min
constexpr double kStallHours = 0.5;          // remaining stall without a watchdog, until a person acts
constexpr double kDefaultFailures = 6.5;     // per 1,000 node-days

std::optional<double> known_hours(std::optional<double> value) {
  if (!value || !std::isfinite(*value) || *value < 0) return std::nullopt;
  return value;
}

double clamped_share(double value) {
  return std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : 0.0;
}

std::string decimal(const char* format, double value) {
  std::string text(32, '\0');
  const int size = std::snprintf(text.data(), text.size(), format, value);
  text.resize(static_cast<std::size_t>(std::clamp(size, 0, 31)));
  return text;
}

std::string in_hours(double value) {
  return decimal("%.2f h", value);
}

// Inputs with the substitutes of unknown values.
struct DecisionTimes {
  double interval = 0, restart = 0, wait = 0, horizon = 0;
  double since_checkpoint = 0, to_checkpoint = 0, crash = 0;
  bool knows_checkpoint = false;
};

DecisionTimes decision_times(const DecisionInputs& inputs, const Policy& policy) {
  DecisionTimes times;
  times.interval = known_hours(inputs.checkpoint_interval).value_or(kIntervalHours);
  times.restart = known_hours(inputs.restart).value_or(kRestartHours);
  times.wait = inputs.spares > 0 ? 0 : known_hours(inputs.spare_wait).value_or(kSpareWaitHours);
  times.crash = known_hours(inputs.watchdog).value_or(kCrashHours);
  times.horizon =
      free_swap_horizon(policy, inputs.nodes, known_hours(inputs.remaining).value_or(kRemainingHours));
  const auto since = known_hours(inputs.since_checkpoint);
  times.knows_checkpoint = since.has_value();
  times.since_checkpoint = since.value_or(times.interval / 2);
  times.to_checkpoint = std::max(0.0, times.interval - times.since_checkpoint);
  return times;
}

// Expected loss from waiting `time` with the culprit in the job.
double loss_of_waiting(const DecisionInputs& inputs, const DecisionTimes& times, double goodput_loss,
                       double time) {
  const double hazard = known_hours(inputs.extra_hazard).value_or(0);
  const double crash = 1 - std::exp(-hazard * time);
  return goodput_loss * time + crash * (times.interval / 2 + times.crash + times.restart);
}

Decision base_decision(const DecisionInputs& inputs, const DecisionTimes& times) {
  Decision decision;
  decision.probability = clamped_share(inputs.probability);
  decision.since_checkpoint = times.since_checkpoint;
  decision.to_checkpoint = times.to_checkpoint;
  decision.restart = times.restart;
  decision.horizon = times.horizon;
  decision.goodput_loss = clamped_share(known_hours(inputs.goodput_loss).value_or(0));
  return decision;
}

void set_losses(const DecisionInputs& inputs, const DecisionTimes& times, Decision& decision) {
  const double p = decision.probability;
  const double g = decision.goodput_loss;
  decision.loss_continue = p * loss_of_waiting(inputs, times, g, times.horizon);
  const double until = std::min(times.to_checkpoint, times.horizon);
  decision.loss_checkpoint = p * loss_of_waiting(inputs, times, g, until) +
                             known_hours(inputs.checkpoint_cost).value_or(0) + times.restart + times.wait;
  decision.loss_now = times.since_checkpoint + times.restart + times.wait;
}

void choose_by_loss(const Policy& policy, Decision& decision) {
  const double p = decision.probability;
  const double limit = policy.margin * decision.loss_continue;
  const bool may_swap = p >= policy.p_checkpoint && decision.loss_checkpoint < limit;
  const bool may_stop = p >= policy.p_now && decision.loss_now < limit;
  // Of two actions the gentler, unless the other is better by the margin.
  if (may_stop && (!may_swap || decision.loss_now < policy.margin * decision.loss_checkpoint)) {
    decision.choice = Choice::stop_now;
    decision.because = "Stopping now costs " + in_hours(decision.loss_now) + "; waiting for the checkpoint " +
                       in_hours(decision.loss_checkpoint) + ", continuing " +
                       in_hours(decision.loss_continue);
  } else if (may_swap) {
    decision.choice = Choice::swap_at_checkpoint;
    decision.because = "Swapping the node at the next checkpoint costs " +
                       in_hours(decision.loss_checkpoint) + "; continuing costs " +
                       in_hours(decision.loss_continue);
  } else if (p < policy.p_checkpoint) {
    decision.because = "The probability of the culprit is " + decimal("%.2f", p) + ", below the " +
                       decimal("%.2f", policy.p_checkpoint) + " that a swap needs";
  } else {
    decision.because = "Continuing costs " + in_hours(decision.loss_continue) +
                       "; no action is cheaper by the margin (swap " + in_hours(decision.loss_checkpoint) +
                       ", stop " + in_hours(decision.loss_now) + ")";
  }
}

// A hang: the work since the checkpoint is lost whatever is done, so it counts only against a false stop.
void decide_hang(const DecisionInputs& inputs, const DecisionTimes& times, Decision& decision) {
  const double p = clamped_share(inputs.hang_probability.value_or(decision.probability));
  const auto watchdog = known_hours(inputs.watchdog);
  const double left = watchdog ? *watchdog - known_hours(inputs.stalled).value_or(0) : 0;
  const double stall = left > 0 ? left : kStallHours;
  decision.goodput_loss = 1;
  decision.loss_continue = decision.loss_checkpoint = p * stall;
  decision.loss_now = (1 - p) * (times.since_checkpoint + times.restart);
  if (decision.loss_now < decision.loss_continue) {
    decision.choice = Choice::stop_now;
    decision.because = "The job hangs with probability " + decimal("%.2f", p) + ": waiting costs " +
                       in_hours(decision.loss_continue) + ", a false stop " + in_hours(decision.loss_now);
  } else {
    decision.because = "The job may still go on: a false stop would cost " + in_hours(decision.loss_now) +
                       ", waiting " + in_hours(decision.loss_continue);
  }
}

// A job that ended starts again; the question is on which nodes.
void decide_crash(const Policy& policy, const DecisionInputs& inputs, Decision& decision) {
  const bool excludes = inputs.culprit.is_accused() && decision.probability >= policy.p_now;
  decision.goodput_loss = 1;
  decision.choice = excludes ? Choice::stop_now : Choice::restart_in_place;
  decision.because = excludes ? "The job ended because of " + to_string(inputs.culprit) +
                                    ": start it again without that node"
                              : "The job ended and no node is to blame with enough certainty: start it again";
}

bool decide_special(const DecisionInputs& inputs, const Policy& policy, Decision& decision) {
  switch (inputs.situation) {
    case Situation::usual:
      return false;
    case Situation::fatal:
      decision.goodput_loss = 1;
      decision.choice = Choice::stop_now;
      decision.because = "A part of the machine failed: the job ends by itself, or already has";
      if (!inputs.culprit.is_accused() || decision.probability < policy.p_now)
        decision.is_recommendation = true;
      return true;
    case Situation::contained:
      decision.choice = Choice::restart_in_place;
      decision.because = "The memory error was contained: one process restarts, the GPU is reset later";
      return true;
    case Situation::application:
      decision.choice = inputs.effect == Effect::crash ? Choice::restart_in_place : Choice::keep_running;
      decision.because = "The program caused the error: no node is cordoned";
      return true;
    case Situation::processor_wait:
      decision.because =
          "A process waits for a processor although the host has free ones: check the CPU limit and the "
          "affinity "
          "of its pod or cgroup; the limit would follow the job to another node";
      return true;
    case Situation::loss_not_a_number:
      decision.choice = Choice::stop_now;
      decision.is_recommendation = true;
      decision.because =
          "The loss is not a number: checkpoints since then are suspect; a person must decide before it goes "
          "on";
      return true;
  }
  return false;
}

// Reasons why the decision is only a recommendation, whatever the mode.
void limit_to_recommendation(const DecisionInputs& inputs, const DecisionTimes& times, Decision& decision) {
  const auto only_recommend = [&](const char* reason) {
    decision.is_recommendation = true;
    decision.because += reason;
  };
  if (decision.choice == Choice::keep_running || inputs.situation != Situation::usual) return;
  if (inputs.effect != Effect::crash && !times.knows_checkpoint)
    only_recommend(". Only a recommendation: the time since the last checkpoint is unknown");
  else if (decision.choice == Choice::swap_at_checkpoint && !inputs.hears_of_checkpoints)
    only_recommend(". Only a recommendation: the job does not report its checkpoints");
}

}  // namespace

Situation situation_of(const Event& event) {
  switch (event.event_class) {
    case EventClass::hardware:
      return event.key.starts_with("xid_") || event.key == "node_lost" ? Situation::fatal : Situation::usual;
    case EventClass::contained:
      return Situation::contained;
    case EventClass::application:
      return Situation::application;
    case EventClass::degraded:
    case EventClass::consequence:
    case EventClass::info:
      break;
  }
  return Situation::usual;
}

double goodput_loss_of(double slowdown) {
  if (!std::isfinite(slowdown) || slowdown <= 0) return 0;
  return slowdown / (1 + slowdown);
}

double free_swap_horizon(const Policy& policy, int nodes, double remaining_hours) {
  const double remaining = known_hours(remaining_hours).value_or(kRemainingHours);
  const double failures = known_hours(policy.failures_per_1000_node_days).value_or(kDefaultFailures);
  const double rate = std::max(nodes, 1) * failures / 1000 / 24;
  return rate > 0 ? -std::expm1(-rate * remaining) / rate : remaining;
}

Decision decide(const DecisionInputs& inputs, const Policy& policy) {
  const DecisionTimes times = decision_times(inputs, policy);
  Decision decision = base_decision(inputs, times);
  decision.is_recommendation = policy.mode != Mode::act;
  set_losses(inputs, times, decision);
  if (decide_special(inputs, policy, decision)) return decision;
  if (inputs.effect == Effect::hang) {
    decide_hang(inputs, times, decision);
  } else if (inputs.effect == Effect::crash) {
    decide_crash(policy, inputs, decision);
  } else if (!inputs.culprit.is_accused()) {
    decision.because = "No node is accused: there is nothing to swap";
  } else if (inputs.effect == Effect::none) {
    decision.because = "The part does not slow the job";
    if (known_hours(inputs.extra_hazard).value_or(0) > 0) choose_by_loss(policy, decision);
  } else if (!known_hours(inputs.goodput_loss)) {
    decision.because = "The effect on the job is unknown: the losses cannot be compared";
  } else {
    choose_by_loss(policy, decision);
  }
  limit_to_recommendation(inputs, times, decision);
  return decision;
}

}  // namespace autopilot::jobs
