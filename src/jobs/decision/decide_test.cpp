// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/decide.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace autopilot::jobs {
namespace {

constexpr double kUnknownHours = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoWeeks = 14 * 24;

DecisionInputs slow_job(int nodes, double goodput_loss) {
  DecisionInputs inputs;
  inputs.culprit = {EntityKind::gpu, "gpu-001", 3, {}};
  inputs.probability = 1;
  inputs.goodput_loss = goodput_loss;
  inputs.since_checkpoint = 0.25;
  inputs.checkpoint_interval = 0.5;
  inputs.checkpoint_cost = 0;
  inputs.restart = 0.25;
  inputs.nodes = nodes;
  inputs.spares = 1;
  inputs.hears_of_checkpoints = true;
  return inputs;
}

Policy acting_policy(double margin = 0.8) {
  Policy policy;
  policy.mode = Mode::act;
  policy.margin = margin;
  return policy;
}

TEST(Decide, horizons_and_break_even_losses_are_those_of_the_table) {
  struct Row {
    int gpus;
    double horizon, percent_quarter_hour, percent_hour, percent_low_rate;
  };
  Policy low;
  low.failures_per_1000_node_days = 2.34;
  for (const Row& row :
       {Row{64, 239, 0.10, 0.42, 0.08}, Row{512, 57.5, 0.43, 1.74, 0.18}, Row{1024, 28.8, 0.87, 3.5, 0.32},
        Row{4096, 7.2, 3.5, 14, 1.25}, Row{16384, 1.8, 14, 55, 5.0}}) {
    const double horizon = free_swap_horizon({}, row.gpus / 8, kTwoWeeks);
    EXPECT_NEAR(horizon, row.horizon, 0.01 * row.horizon) << row.gpus;
    EXPECT_NEAR(100 * 0.25 / horizon, row.percent_quarter_hour, 0.04 * row.percent_quarter_hour + 0.005);
    EXPECT_NEAR(100 / horizon, row.percent_hour, 0.015 * row.percent_hour);
    const double low_horizon = free_swap_horizon(low, row.gpus / 8, kTwoWeeks);
    EXPECT_NEAR(100 * 0.25 / low_horizon, row.percent_low_rate, 0.03 * row.percent_low_rate + 0.005);
  }
}

TEST(Decide, a_job_swaps_above_its_break_even_and_continues_below) {
  // Right at a checkpoint, without a margin: only the restart counts against the loss.
  for (const int nodes : {8, 64, 128, 512}) {
    DecisionInputs inputs = slow_job(nodes, 0);
    inputs.since_checkpoint = inputs.checkpoint_interval;
    const double break_even = 0.25 / free_swap_horizon({}, nodes, kTwoWeeks);
    inputs.goodput_loss = 1.05 * break_even;
    EXPECT_EQ(decide(inputs, acting_policy(1)).choice, Choice::swap_at_checkpoint) << nodes;
    inputs.goodput_loss = 0.95 * break_even;
    EXPECT_EQ(decide(inputs, acting_policy(1)).choice, Choice::keep_running) << nodes;
  }
}

TEST(Decide, a_ten_percent_loss_swaps_in_a_small_job_and_waits_in_a_huge_one) {
  const Decision small = decide(slow_job(64, 0.1), acting_policy());
  EXPECT_EQ(small.choice, Choice::swap_at_checkpoint);
  EXPECT_NEAR(small.loss_continue, 5.75, 0.02);
  EXPECT_FALSE(small.is_recommendation);
  EXPECT_EQ(decide(slow_job(2048, 0.1), acting_policy()).choice, Choice::keep_running);
}

TEST(Decide, an_action_needs_the_margin) {
  DecisionInputs inputs = slow_job(64, 0.0055);  // continuing costs about 0.32 h, a swap 0.25 h
  EXPECT_EQ(decide(inputs, acting_policy(1)).choice, Choice::swap_at_checkpoint);
  EXPECT_EQ(decide(inputs, acting_policy(0.8)).choice, Choice::swap_at_checkpoint);
  inputs.goodput_loss = 0.005;
  EXPECT_EQ(decide(inputs, acting_policy(1)).choice, Choice::swap_at_checkpoint);
  EXPECT_EQ(decide(inputs, acting_policy(0.8)).choice, Choice::keep_running);
}

TEST(Decide, an_uncertain_culprit_is_neither_swapped_nor_stopped) {
  DecisionInputs inputs = slow_job(64, 0.3);
  inputs.probability = 0.59;
  const Decision decision = decide(inputs, acting_policy());
  EXPECT_EQ(decision.choice, Choice::keep_running);
  EXPECT_NE(decision.because.find("0.59"), std::string::npos);
  inputs.probability = kUnknownHours;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
}

TEST(Decide, a_stop_needs_more_certainty_than_a_swap) {
  DecisionInputs inputs = slow_job(64, 0.9);
  inputs.checkpoint_interval = 10;
  inputs.since_checkpoint = 0.1;
  inputs.probability = 0.95;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::stop_now);
  inputs.probability = 0.8;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::swap_at_checkpoint);
}

TEST(Decide, a_missing_spare_makes_a_swap_dearer) {
  DecisionInputs inputs = slow_job(512, 0.05);
  inputs.restart = 0.05;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::swap_at_checkpoint);
  inputs.spares = 0;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
}

TEST(Decide, a_node_that_will_fail_is_swapped_though_it_slows_nothing) {
  DecisionInputs inputs = slow_job(8, 0);
  inputs.effect = Effect::none;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
  inputs.extra_hazard = 0.05;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::swap_at_checkpoint);
}

TEST(Decide, unknown_inputs_never_act) {
  DecisionInputs inputs = slow_job(64, 0.3);
  inputs.goodput_loss = std::nullopt;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
  inputs.goodput_loss = kUnknownHours;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);

  inputs = slow_job(64, 0.3);
  inputs.since_checkpoint = std::nullopt;
  const Decision unknown = decide(inputs, acting_policy());
  EXPECT_EQ(unknown.since_checkpoint, 0.25);
  EXPECT_EQ(unknown.choice, Choice::swap_at_checkpoint);
  EXPECT_TRUE(unknown.is_recommendation);

  inputs = slow_job(64, 0.3);
  inputs.hears_of_checkpoints = false;
  EXPECT_TRUE(decide(inputs, acting_policy()).is_recommendation);

  inputs = slow_job(64, 0.3);
  for (const EntityKind kind : {EntityKind::unlocalised, EntityKind::program, EntityKind::storage}) {
    inputs.culprit = {kind, {}, -1, {}};
    EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
  }
}

TEST(Decide, only_the_mode_act_acts) {
  Policy policy = acting_policy();
  EXPECT_FALSE(decide(slow_job(64, 0.3), policy).is_recommendation);
  for (const Mode mode : {Mode::observe, Mode::recommend}) {
    policy.mode = mode;
    EXPECT_TRUE(decide(slow_job(64, 0.3), policy).is_recommendation);
  }
  EXPECT_TRUE(decide(slow_job(64, 0.3), {}).is_recommendation);
}

DecisionInputs hung_job(double probability) {
  DecisionInputs inputs = slow_job(64, 0);
  inputs.effect = Effect::hang;
  inputs.culprit = {};
  inputs.hang_probability = probability;
  inputs.since_checkpoint = 0.5;
  inputs.restart = 0.25;
  return inputs;
}

TEST(Decide, a_hang_is_stopped_from_the_certainty_that_its_watchdog_demands) {
  DecisionInputs inputs = hung_job(0.59);  // no watchdog: 0.75 / (0.75 + 0.5) = 0.60
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
  inputs.hang_probability = 0.61;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::stop_now);
  inputs.watchdog = 0.2;  // 0.15 h are left: 0.75 / 0.9 = 0.83
  inputs.stalled = 0.05;
  inputs.hang_probability = 0.82;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
  inputs.hang_probability = 0.84;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::stop_now);
  inputs.stalled = 5;  // the watchdog did not end it: it does not work
  EXPECT_NEAR(decide(inputs, acting_policy()).loss_continue, 0.84 * 0.5, 1e-9);
}

TEST(Decide, a_fatal_fault_stops_the_job_now) {
  DecisionInputs inputs = slow_job(64, 0);
  inputs.situation = Situation::fatal;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::stop_now);
  EXPECT_FALSE(decide(inputs, acting_policy()).is_recommendation);
  inputs.culprit = {};
  EXPECT_TRUE(decide(inputs, acting_policy()).is_recommendation);
}

TEST(Decide, a_contained_memory_error_restarts_in_place) {
  DecisionInputs inputs = slow_job(64, 0);
  inputs.situation = Situation::contained;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::restart_in_place);
}

TEST(Decide, an_application_error_takes_no_node) {
  DecisionInputs inputs = slow_job(64, 0.5);
  inputs.situation = Situation::application;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::keep_running);
  inputs.effect = Effect::crash;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::restart_in_place);
}

TEST(Decide, a_processor_limit_takes_no_node) {
  DecisionInputs inputs = slow_job(64, 0.5);
  inputs.situation = Situation::processor_wait;
  const Decision decision = decide(inputs, acting_policy());
  EXPECT_EQ(decision.choice, Choice::keep_running);
  EXPECT_NE(decision.because.find("CPU limit"), std::string::npos);
}

TEST(Decide, a_loss_that_is_not_a_number_never_continues_silently) {
  for (const double probability : {0.0, 1.0, kUnknownHours}) {
    DecisionInputs inputs = slow_job(64, 0);
    inputs.probability = probability;
    inputs.situation = Situation::loss_not_a_number;
    const Decision decision = decide(inputs, acting_policy());
    EXPECT_EQ(decision.choice, Choice::stop_now);
    EXPECT_TRUE(decision.is_recommendation);
    EXPECT_NE(decision.because.find("suspect"), std::string::npos);
  }
}

TEST(Decide, a_crash_excludes_a_node_only_with_certainty) {
  DecisionInputs inputs = slow_job(64, 0);
  inputs.effect = Effect::crash;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::stop_now);
  inputs.probability = 0.7;
  EXPECT_EQ(decide(inputs, acting_policy()).choice, Choice::restart_in_place);
}

TEST(Decide, degenerate_inputs_give_finite_losses) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double strange : {kUnknownHours, inf, -inf, -1.0}) {
    DecisionInputs inputs = slow_job(0, strange);
    inputs.since_checkpoint = inputs.checkpoint_interval = inputs.checkpoint_cost = strange;
    inputs.restart = inputs.remaining = inputs.watchdog = inputs.stalled = inputs.spare_wait = strange;
    inputs.extra_hazard = strange;
    inputs.hang_probability = strange;
    Policy policy = acting_policy();
    policy.failures_per_1000_node_days = strange;
    for (const Effect effect :
         {Effect::none, Effect::slow, Effect::regression, Effect::hang, Effect::crash}) {
      inputs.effect = effect;
      const Decision decision = decide(inputs, policy);
      EXPECT_TRUE(std::isfinite(decision.loss_continue + decision.loss_checkpoint + decision.loss_now));
      EXPECT_TRUE(std::isfinite(decision.horizon + decision.to_checkpoint + decision.goodput_loss));
      EXPECT_FALSE(decision.because.empty());
    }
  }
}

TEST(Decide, only_a_hardware_xid_or_a_lost_node_is_fatal) {
  Event event;
  event.event_class = EventClass::hardware;
  for (const char* key : {"xid_79", "node_lost"}) {
    event.key = key;
    EXPECT_EQ(situation_of(event), Situation::fatal);
  }
  event.key = "link_down";
  EXPECT_EQ(situation_of(event), Situation::usual);
  event.event_class = EventClass::contained;
  EXPECT_EQ(situation_of(event), Situation::contained);
  event.event_class = EventClass::application;
  EXPECT_EQ(situation_of(event), Situation::application);
  event.event_class = EventClass::consequence;
  EXPECT_EQ(situation_of(event), Situation::usual);
}

// One slow node: what each rule loses until a failure that excludes the node at no cost, in hours.
struct SlowEpisode {
  double goodput_loss, since_checkpoint, failure;
  int nodes;
  static constexpr double kInterval = 0.5, kRestart = 0.25;

  [[nodiscard]] double waiting() const { return goodput_loss * failure; }
  [[nodiscard]] double swapping() const {
    const double to_checkpoint = kInterval - since_checkpoint;
    return failure < to_checkpoint ? waiting() : goodput_loss * to_checkpoint + kRestart;
  }
  [[nodiscard]] double stopping() const { return since_checkpoint + kRestart; }
  // Swaps when the loss has reached the price of a swap.
  [[nodiscard]] double renting() const {
    const double due = kRestart / goodput_loss;
    return failure < due ? waiting() : kRestart + kRestart + goodput_loss * kInterval / 2;
  }
  [[nodiscard]] double deciding() const {
    DecisionInputs inputs = slow_job(nodes, goodput_loss);
    inputs.since_checkpoint = since_checkpoint;
    switch (decide(inputs, {}).choice) {
      case Choice::swap_at_checkpoint:
        return swapping();
      case Choice::stop_now:
        return stopping();
      default:
        return waiting();
    }
  }
};

TEST(Decide, no_simple_rule_loses_less_in_a_simulation) {
  std::mt19937_64 random(7);
  const auto uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
  for (const int nodes : {8, 64, 128, 512, 2048}) {
    double never = 0, always = 0, ten_percent = 0, renting = 0, deciding = 0;
    for (const double goodput_loss : {0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5}) {
      for (int i = 0; i < 1000; ++i) {
        const double rate = nodes * 6.5e-3 / 24;
        const double failure = std::min(kTwoWeeks, -std::log(1 - uniform()) / rate);
        const SlowEpisode episode{goodput_loss, uniform() * SlowEpisode::kInterval, failure, nodes};
        never += episode.waiting();
        always += episode.stopping();
        ten_percent += goodput_loss >= 0.1 ? episode.swapping() : episode.waiting();
        renting += episode.renting();
        deciding += episode.deciding();
      }
    }
    EXPECT_LT(deciding, std::min(std::min(never, always), std::min(ten_percent, renting))) << nodes;
  }
}

TEST(Decide, a_slowdown_is_a_smaller_loss_of_goodput) {
  EXPECT_NEAR(goodput_loss_of(0.25), 0.2, 1e-12);
  EXPECT_EQ(goodput_loss_of(-0.1), 0);
  EXPECT_EQ(goodput_loss_of(kUnknownHours), 0);
}

}  // namespace
}  // namespace autopilot::jobs
