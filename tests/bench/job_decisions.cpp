// SPDX-License-Identifier: Apache-2.0
#include "job_decisions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "jobs/decision/decide.hpp"
#include "simulator/jobs/pcg.hpp"

namespace autopilot::jobs::bench {
namespace {

using simulated_jobs::Pcg;

constexpr double kInterval = 0.5;  // hours between two decisions

// One slow job, in hours from the time of the finding.
struct Trial {
  int nodes = 1;
  double goodput_loss = 0;
  double probability = 0;  // as the finding states it
  bool is_culprit = false;
  double checkpoint_interval = 0, since_checkpoint = 0, checkpoint_cost = 0;
  double restart = 0, spare_wait = 0;
  int spares = 0;
  double remaining = 0;
  double next_failure = 0;  // of another part, which ends the attempt
  double since_onset = 0;   // delay of the detection

  // The culprit slows the job until the attempt ends by itself.
  [[nodiscard]] double end() const { return std::min(remaining, next_failure); }
};

double log_uniform(Pcg& draw, double low, double high) {
  return low * std::pow(high / low, draw.uniform());
}

Trial draw_trial(Pcg& draw, const DecisionPlan& plan, const Policy& policy) {
  Trial trial;
  trial.nodes = 1 << draw.below(10);
  trial.goodput_loss = goodput_loss_of(log_uniform(draw, 0.02, 0.5));
  trial.probability = draw.uniform(plan.least_probability, 1);
  trial.is_culprit = draw.chance(trial.probability);
  trial.checkpoint_interval = log_uniform(draw, 0.25, 4);
  trial.since_checkpoint = draw.uniform() * trial.checkpoint_interval;
  trial.checkpoint_cost = draw.uniform(0, 0.05);
  trial.restart = log_uniform(draw, 0.1, 1);
  trial.spares = draw.chance(0.7) ? 1 : 0;
  trial.spare_wait = 1;
  trial.remaining = log_uniform(draw, 6, 14 * 24.0);
  const double rate = trial.nodes * policy.failures_per_1000_node_days / 1000 / 24;
  trial.next_failure = -std::log(1 - draw.uniform()) / rate;
  trial.since_onset = draw.uniform(0.05, 0.2);
  return trial;
}

double wait_of(const Trial& trial) {
  return trial.spares > 0 ? 0 : trial.spare_wait;
}

// Time of the next checkpoint after `now`.
double next_checkpoint(const Trial& trial, double now) {
  const double first = trial.checkpoint_interval - trial.since_checkpoint;
  if (now <= first) return first;
  return first + std::ceil((now - first) / trial.checkpoint_interval) * trial.checkpoint_interval;
}

// What the job loses to the culprit while it runs with it, from the onset to `until`.
double slow_until(const Trial& trial, double until) {
  return trial.is_culprit ? trial.goodput_loss * (until + trial.since_onset) : 0;
}

double cost_of_never(const Trial& trial) {
  return slow_until(trial, trial.end());
}

// After a swap for the wrong culprit the job goes on as before.
double cost_of_stop(const Trial& trial, double now) {
  const double first = trial.checkpoint_interval - trial.since_checkpoint;
  const double age =
      now < first ? trial.since_checkpoint + now : std::fmod(now - first, trial.checkpoint_interval);
  return slow_until(trial, now) + age + trial.restart + wait_of(trial);
}

double cost_of_swap(const Trial& trial, double now) {
  const double at = next_checkpoint(trial, now);
  if (at >= trial.end()) return cost_of_never(trial);
  return slow_until(trial, at) + trial.checkpoint_cost + trial.restart + wait_of(trial);
}

double cost_of(const Trial& trial, Choice choice, double now) {
  if (choice == Choice::stop_now) return cost_of_stop(trial, now);
  return choice == Choice::swap_at_checkpoint ? cost_of_swap(trial, now) : cost_of_never(trial);
}

using Rule = std::function<Choice(const Trial& trial, double now)>;

// When the rule first acts, and how.
std::pair<Choice, double> decide_over_time(const Trial& trial, const Rule& rule) {
  for (double now = 0; now < trial.end(); now += kInterval)
    if (const Choice choice = rule(trial, now); choice != Choice::keep_running) return {choice, now};
  return {Choice::keep_running, 0};
}

Choice by_expected_loss(const Trial& trial, double now, const Policy& policy) {
  const double first = trial.checkpoint_interval - trial.since_checkpoint;
  DecisionInputs inputs;
  inputs.effect = Effect::slow;
  inputs.culprit = {EntityKind::gpu, "gpu-1", 0, {}};
  inputs.probability = trial.probability;
  inputs.goodput_loss = trial.goodput_loss;
  inputs.since_checkpoint =
      now < first ? trial.since_checkpoint + now : std::fmod(now - first, trial.checkpoint_interval);
  inputs.checkpoint_interval = trial.checkpoint_interval;
  inputs.checkpoint_cost = trial.checkpoint_cost;
  inputs.restart = trial.restart;
  inputs.remaining = trial.remaining - now;
  inputs.spare_wait = trial.spare_wait;
  inputs.nodes = trial.nodes;
  inputs.spares = trial.spares;
  inputs.hears_of_checkpoints = true;
  return decide(inputs, policy).choice;
}

double clairvoyant(const Trial& trial) {
  return std::min({cost_of_never(trial), cost_of_stop(trial, 0), cost_of_swap(trial, 0)});
}

}  // namespace

double DecisionCosts::regret(std::string_view name) const {
  const auto found = std::ranges::find(policies, name, &PolicyCost::name);
  if (found == policies.end()) return 1;
  return (found->lost_hours - policies.back().lost_hours) / policies.front().lost_hours;
}

DecisionCosts run_decisions(const DecisionPlan& plan) {
  const Policy policy{.mode = Mode::act};
  const std::array<std::pair<std::string_view, Rule>, 5> rules{{
      {"never", [](const Trial&, double) { return Choice::keep_running; }},
      {"stop at once", [](const Trial&, double) { return Choice::stop_now; }},
      {"swap from 10 % on",
       [](const Trial& trial, double) {
         return trial.goodput_loss >= 0.1 ? Choice::swap_at_checkpoint : Choice::keep_running;
       }},
      // Acts when what was lost reaches what an action costs.
      {"ski rental",
       [](const Trial& trial, double now) {
         const double cost = trial.checkpoint_cost + trial.restart + wait_of(trial);
         return trial.goodput_loss * (now + trial.since_onset) >= cost ? Choice::swap_at_checkpoint
                                                                       : Choice::keep_running;
       }},
      {"expected loss", [&](const Trial& trial, double now) { return by_expected_loss(trial, now, policy); }},
  }};
  DecisionCosts costs;
  for (const auto& [name, rule] : rules)
    costs.policies.push_back({name});
  costs.policies.push_back({"clairvoyant"});
  Pcg draw = Pcg::mixed(plan.seed, 1);
  for (std::size_t i = 0; i < plan.trials; ++i) {
    const Trial trial = draw_trial(draw, plan, policy);
    for (std::size_t each = 0; each < rules.size(); ++each) {
      PolicyCost& cost = costs.policies[each];
      const auto [choice, now] = decide_over_time(trial, rules[each].second);
      cost.lost_hours += cost_of(trial, choice, now);
      if (choice == Choice::keep_running) continue;
      ++cost.stops;
      if (!trial.is_culprit) ++cost.false_stops;
    }
    costs.policies.back().lost_hours += clairvoyant(trial);
  }
  return costs;
}

}  // namespace autopilot::jobs::bench
