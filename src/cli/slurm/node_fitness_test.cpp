// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/node_fitness.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace autopilot::cli::node_fitness_test {
namespace {

using testing::HasSubstr;

NodeSnapshot node_with(Verdict verdict) {
  NodeSnapshot node;
  node.node = "n2";
  node.boot_id = "0123abcd-0000";
  node.verdict = verdict;
  CheckResult result;
  result.check = "gpu.present";
  result.health = Health::healthy;
  result.required = true;
  result.completed = WallTime{std::chrono::hours(500000)};
  node.results = {result};
  return node;
}

Incident lost_gpu() {
  Incident incident;
  incident.id = "0123abcd-12";
  incident.reason = "gpu_lost";
  incident.health = Health::failed;
  incident.action = Action::reboot_node;
  incident.summary = "GPU 3 has fallen off the bus.";
  return incident;
}

SlurmNode in(std::vector<std::string> states, std::string reason = {}) {
  return {.name = "n2", .states = std::move(states), .reason = std::move(reason)};
}

TEST(NodeFitness, a_node_to_evict_is_unfit_and_its_drain_names_reason_and_incident) {
  NodeSnapshot node = node_with(Verdict::evict);
  Incident injected = lost_gpu();
  injected.injected = true;
  injected.id = "0123abcd-1";
  Incident weak = lost_gpu();
  weak.health = Health::degraded;
  weak.id = "0123abcd-2";
  node.incidents = {injected, weak, lost_gpu()};
  const NodeFitness fitness = fitness_of(node);
  EXPECT_EQ(fitness.fitness, Fitness::unfit);
  EXPECT_EQ(drain_reason(fitness), "autopilot: gpu_lost 0123abcd-12");
  EXPECT_EQ(fitness.why, "GPU 3 has fallen off the bus");
}

TEST(NodeFitness, a_diagnostic_without_an_incident_is_named_as_well) {
  NodeSnapshot node = node_with(Verdict::evict);
  CheckResult result;
  result.check = "gpu.diagnosis";
  result.health = Health::failed;
  result.findings.push_back({.health = Health::failed,
                             .reason = "dcgm_fatal",
                             .message = "memory test failed",
                             .action = Action::replace});
  node.results.push_back(result);
  EXPECT_EQ(drain_reason(fitness_of(node)), "autopilot: dcgm_fatal gpu.diagnosis");
  EXPECT_EQ(drain_reason(fitness_of(node_with(Verdict::evict))), "autopilot: verdict_evict 0123abcd");
}

TEST(NodeFitness, a_warning_does_not_keep_jobs_away) {
  EXPECT_EQ(fitness_of(node_with(Verdict::pass)).fitness, Fitness::fit);
  EXPECT_EQ(fitness_of(node_with(Verdict::warn)).fitness, Fitness::fit);
}

TEST(NodeFitness, unknown_is_neither_fit_nor_unfit) {
  EXPECT_EQ(fitness_of(node_with(Verdict::none)).fitness, Fitness::unknown);
  EXPECT_EQ(fitness_of(node_with(Verdict::testing)).fitness, Fitness::unknown);
  NodeSnapshot node = node_with(Verdict::warn);
  CheckResult blind;
  blind.check = "gpu.xid";
  blind.required = true;
  node.results.push_back(blind);
  const NodeFitness fitness = fitness_of(node);
  EXPECT_EQ(fitness.fitness, Fitness::unknown);
  EXPECT_THAT(fitness.why, HasSubstr("gpu.xid"));
  EXPECT_EQ(decide(fitness, in({"IDLE", "DRAIN"}, "autopilot: gpu_lost 1"), true).step, SlurmStep::none);
}

NodeFitness unfit() {
  return {.fitness = Fitness::unfit, .node = "n2", .reason = "gpu_lost", .id = "1"};
}
NodeFitness fit() {
  return {.fitness = Fitness::fit, .node = "n2"};
}

TEST(SlurmDecision, an_unfit_node_is_drained_once_and_never_over_a_reason_of_others) {
  EXPECT_EQ(decide(unfit(), in({"IDLE"}), true).step, SlurmStep::drain);
  EXPECT_EQ(decide(unfit(), in({"ALLOCATED"}), false).step, SlurmStep::drain);
  EXPECT_EQ(decide(unfit(), in({"IDLE", "DRAIN"}, "autopilot: gpu_lost 1"), true).step, SlurmStep::none);
  const SlurmDecision kept = decide(unfit(), in({"IDLE", "DRAIN"}, "bad fan"), true);
  EXPECT_EQ(kept.step, SlurmStep::none);
  EXPECT_THAT(kept.why, HasSubstr("bad fan"));
  EXPECT_EQ(decide(unfit(), in({"DOWN"}, "bought out"), true).step, SlurmStep::none);
}

TEST(SlurmDecision, only_an_own_drain_ends_and_only_by_the_health_check) {
  EXPECT_EQ(decide(fit(), in({"IDLE", "DRAIN"}, "autopilot: gpu_lost 1"), true).step, SlurmStep::resume);
  EXPECT_EQ(decide(fit(), in({"IDLE", "DRAIN"}, "autopilot: gpu_lost 1"), false).step, SlurmStep::none);
  EXPECT_EQ(decide(fit(), in({"IDLE", "DRAIN"}, "bad fan"), true).step, SlurmStep::none);
  EXPECT_EQ(decide(fit(), in({"IDLE", "DRAIN"}), true).step, SlurmStep::none);
  EXPECT_EQ(decide(fit(), in({"IDLE", "DRAIN"}, "Prolog error"), true).step, SlurmStep::none);
  // Of the in-flight engine: "autopilot FINDING: ...".
  EXPECT_EQ(decide(fit(), in({"IDLE", "DRAIN"}, "autopilot 0011: GPU 3"), true).step, SlurmStep::none);
  EXPECT_EQ(decide(fit(), in({"DOWN", "DRAIN"}, "autopilot: gpu_lost 1"), true).step, SlurmStep::none);
  EXPECT_EQ(decide(fit(), in({"IDLE", "DRAIN", "REBOOT_REQUESTED"}, "autopilot: gpu_lost 1"), true).step,
            SlurmStep::none)
      << "a resume would end the request of a person";
  EXPECT_EQ(decide(fit(), in({"IDLE"}), true).step, SlurmStep::none);
}

}  // namespace
}  // namespace autopilot::cli::node_fitness_test
