// SPDX-License-Identifier: Apache-2.0
#include "workloads/backfill/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>

namespace autopilot::workloads::backfill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Cluster cluster_of(const std::string& text) {
  auto found = parse_cluster(text, "cluster.yaml");
  EXPECT_TRUE(found) << found.error().what;
  return found ? *found : Cluster{};
}

const std::string kFourNodes =
    "nodes:\n  - {name: n1, gpus: 8}\n  - {name: n2, gpus: 8}\n  - {name: n3, gpus: 8}\n  - {name: n4, gpus: "
    "8}\n"
    "running:\n  - {name: a, nodes: [n1, n2, n3], gpus: 8, ends_in: 100s}\n";

TEST(Easy, a_short_job_fits_before_the_head_and_a_long_one_does_not) {
  const auto plan = plan_of(
      cluster_of(
          kFourNodes +
          "pending:\n  - {name: b, nodes: 4, gpus: 8, runs: 1h}\n"
          "  - {name: c, nodes: 1, gpus: 8, runs: 50s}\n  - {name: d, nodes: 1, gpus: 8, runs: 200s}\n"),
      {});
  EXPECT_EQ(plan.head_starts_in_s, 100);
  EXPECT_EQ(plan.jobs[0].decision, Decision::head);
  EXPECT_EQ(plan.jobs[1].decision, Decision::backfills);
  EXPECT_THAT(plan.jobs[1].nodes, ElementsAre("n4"));
  EXPECT_NEAR(plan.jobs[1].gpu_hours, 8 * 50 / 3600.0, 1e-9);
  EXPECT_EQ(plan.jobs[2].decision, Decision::no_room) << "c has the node";
  const auto alone = plan_of(cluster_of(kFourNodes + "pending:\n  - {name: b, nodes: 4, gpus: 8, runs: 1h}\n"
                                                     "  - {name: d, nodes: 1, gpus: 8, runs: 200s}\n"),
                             {});
  EXPECT_EQ(alone.jobs[1].decision, Decision::too_long);
}

TEST(Easy, a_long_job_fits_on_nodes_that_the_head_does_not_need) {
  const auto plan = plan_of(cluster_of(kFourNodes + "pending:\n  - {name: b, nodes: 3, gpus: 8, runs: 1h}\n"
                                                    "  - {name: d, nodes: 1, gpus: 8, runs: 24h}\n"),
                            {});
  EXPECT_EQ(plan.jobs[1].decision, Decision::backfills);
}

TEST(Easy, unknown_ends_are_never_guessed) {
  const auto plan = plan_of(cluster_of(kFourNodes + "pending:\n  - {name: b, nodes: 4, gpus: 8, runs: 1h}\n"
                                                    "  - {name: e, nodes: 1, gpus: 8}\n"),
                            {});
  EXPECT_EQ(plan.jobs[1].decision, Decision::unknown_runtime);
  const auto endless = plan_of(
      cluster_of("nodes:\n  - {name: n1, gpus: 8}\n  - {name: n2, gpus: 8}\n"
                 "running:\n  - {name: a, nodes: [n1], gpus: 8}\n"
                 "pending:\n  - {name: b, nodes: 2, gpus: 8, runs: 1h}\n  - {name: c, gpus: 8, runs: 1s}\n"),
      {});
  EXPECT_FALSE(endless.head_starts_in_s);
  EXPECT_EQ(endless.jobs[1].decision, Decision::too_long);
}

TEST(Interference, a_node_is_shared_only_with_a_measured_slowdown_within_the_limit) {
  const std::string cluster =
      "nodes:\n  - {name: n1, gpus: 4}\nrunning:\n  - {name: a, nodes: [n1], gpus: 1, ends_in: 1h}\n"
      "pending:\n  - {name: head, gpus: 4, runs: 1h}\n  - {name: c, gpus: 1, runs: 60s";
  const auto decided = [&](const std::string& rest, double limit) {
    return plan_of(cluster_of(cluster + rest + "}\n"), {limit}).jobs[1].decision;
  };
  EXPECT_EQ(decided("", 0.05), Decision::interferes) << "not measured";
  EXPECT_EQ(decided(", slowdown: 0.038", 0.05), Decision::backfills);
  EXPECT_EQ(decided(", slowdown: 0.038", 0.02), Decision::interferes);
}

TEST(HeldGpus, idle_gpus_are_counted_and_gpus_without_samples_are_unknown) {
  const auto held = held_gpus(cluster_of(
      "nodes:\n  - {name: n1, gpus: 4}\n  - {name: n2, gpus: 8}\n  - {name: n3, gpus: 8}\n"
      "running:\n  - {name: pod, nodes: [n1], gpus: 4, gpu_use: [31, 0.07, 0.08, 0.07], sampled: 1h}\n"
      "  - {name: batch, nodes: [n2], gpus: 8, gpu_use: [82, 77, 0, 0, 0, 0, 0, 0], sampled: 2h}\n"
      "  - {name: dark, nodes: [n3], gpus: 8}\n"));
  EXPECT_EQ(held[0].idle, 3);
  EXPECT_EQ(held[0].idle_hours, 3);
  EXPECT_EQ(held[1].idle_hours, 12);
  EXPECT_EQ(held[1].use, Use::idle);
  EXPECT_EQ(held[2].use, Use::unknown);
  EXPECT_EQ(held[2].idle_hours, 0);
}

TEST(ClusterFile, every_problem_has_its_line) {
  const auto found = parse_cluster(
      "nodes:\n  - {name: n1, gpus: 8}\n  - {name: n1, gpus: 8}\n"
      "running:\n  - {name: a, nodes: [n1, n9], gpus: 9}\n  - {name: b, nodes: [n1], gpu_use: [200]}\n"
      "pending:\n  - {name: c, nodes: 0}\n",
      "cluster.yaml");
  ASSERT_FALSE(found);
  for (const char* part : {"cluster.yaml:3: node n1 is listed twice", "hold more than it has", "runs on n9",
                           "numbers from 0 to 100", "nodes must be between 1"})
    EXPECT_THAT(found.error().what, HasSubstr(part));
}

constexpr double kStep_s = 300;

struct SimulatedJob {
  PendingJob job;
  double arrives_s = 0;
  std::optional<double> reserved_s;  // as promised while it was the head
  std::optional<double> starts_s;
};

// Many small jobs and few large ones, as in public traces of clusters.
std::vector<SimulatedJob> day_of_jobs(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<SimulatedJob> jobs;
  double time = 0;
  for (int i = 0; time < 86'400; ++i) {
    SimulatedJob one;
    one.job.name = std::to_string(i);
    one.job.nodes =
        random() % 10 == 0 ? 8 + static_cast<int>(random() % 5) : 1 + static_cast<int>(random() % 2);
    one.job.on_each.gpus = one.job.nodes > 1 ? 8 : static_cast<double>(std::size_t{1} << random() % 4);
    one.job.runs_s = 60 + static_cast<double>(random() % 7200);
    one.arrives_s = time;
    time += static_cast<double>(random() % 700);
    jobs.push_back(std::move(one));
  }
  return jobs;
}

double gpu_hours_by_evening(const std::vector<SimulatedJob>& jobs) {
  double hours = 0;
  for (const SimulatedJob& one : jobs)
    if (one.starts_s && *one.starts_s < 86'400)
      hours +=
          one.job.on_each.gpus * one.job.nodes * std::min(*one.job.runs_s, 86'400 - *one.starts_s) / 3600;
  return hours;
}

void run_day(std::vector<SimulatedJob>& jobs, bool with_backfill) {
  struct Active {
    RunningJob job;
    double ends_s;
  };
  std::vector<Active> active;
  for (double now = 0; now < 5 * 86'400; now += kStep_s) {
    std::erase_if(active, [now](const Active& one) { return one.ends_s <= now; });
    Cluster cluster;
    for (int i = 0; i < 16; ++i)
      cluster.nodes.push_back({"n" + std::to_string(i), {8, 0, 0}});
    for (const Active& one : active) {
      cluster.running.push_back(one.job);
      cluster.running.back().ends_in_s = one.ends_s - now;
    }
    std::vector<SimulatedJob*> waiting;
    for (SimulatedJob& one : jobs)
      if (one.arrives_s <= now && !one.starts_s) {
        waiting.push_back(&one);
        cluster.pending.push_back(one.job);
        cluster.pending.back().slowdown = 0;
      }
    const Plan plan = plan_of(cluster, {});
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
      const PlannedJob& planned = plan.jobs[i];
      if (planned.decision == Decision::head && plan.head_starts_in_s && !waiting[i]->reserved_s)
        waiting[i]->reserved_s = now + *plan.head_starts_in_s;
      const bool goes =
          planned.decision == Decision::starts || (with_backfill && planned.decision == Decision::backfills);
      if (!goes) continue;
      waiting[i]->starts_s = now;
      active.push_back(
          {{planned.name, planned.nodes, waiting[i]->job.on_each, {}, {}, 0}, now + *waiting[i]->job.runs_s});
    }
  }
}

TEST(SimulatedDay, backfilling_wins_gpu_hours_and_delays_no_head) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    auto in_order = day_of_jobs(seed);
    auto backfilled = in_order;
    run_day(in_order, false);
    run_day(backfilled, true);
    EXPECT_GT(gpu_hours_by_evening(backfilled), gpu_hours_by_evening(in_order)) << seed;
    for (const SimulatedJob& one : backfilled) {
      ASSERT_TRUE(one.starts_s) << "job " << one.job.name << " never starts";
      // The day advances in steps.
      if (one.reserved_s)
        EXPECT_LE(*one.starts_s, *one.reserved_s + kStep_s) << "seed " << seed << ", job " << one.job.name;
    }
  }
}

}  // namespace
}  // namespace autopilot::workloads::backfill
