// SPDX-License-Identifier: Apache-2.0
#include "agent/validation_part.hpp"

#include <gtest/gtest.h>

#include "tests/support/api/job_samples.hpp"

namespace autopilot::agent {
namespace {

using learning::JobOutcome;
using postflight::Allowed;
using postflight::JobFacts;

TEST(ValidationSetting, load_needs_a_permission) {
  config::Config config;
  EXPECT_EQ(allowed_by(config), Allowed::passive);
  config.gpu_tests.every = std::chrono::hours{24};
  EXPECT_EQ(allowed_by(config), Allowed::quick) << "diagnostics of idle GPUs are allowed already";
  for (const auto& [word, allowed] :
       {std::pair{"off", Allowed::off}, {"passive", Allowed::passive}, {"quick", Allowed::quick}}) {
    config.validation.on_job_end = word;
    EXPECT_EQ(allowed_by(config), allowed) << word;
  }
}

TEST(FactsForValidation, a_culprit_on_this_node_suspects_it) {
  const jobs::JobReport report = api::testing::sample_job();
  const JobFacts here = facts_of(report, "gpu-001");
  EXPECT_EQ(here.outcome, JobOutcome::failed);
  EXPECT_EQ(here.failure, "hardware");
  EXPECT_EQ(here.failure_text, "GPU 3 of gpu-001 fell off the bus");
  EXPECT_TRUE(here.suspects_node);
  EXPECT_FALSE(facts_of(report, "gpu-002").suspects_node);
}

TEST(FactsForValidation, a_leaf_or_a_nic_suspects_the_network) {
  jobs::JobReport report;
  EXPECT_FALSE(facts_of(report, "n0").suspects_network);
  EXPECT_EQ(facts_of(report, "n0").outcome, JobOutcome::unknown);
  report.findings.push_back({.culprit = {jobs::EntityKind::leaf, "leaf-1", -1, ""}, .probability = 0.8});
  EXPECT_TRUE(facts_of(report, "n0").suspects_network);
  EXPECT_FALSE(facts_of(report, "n0").suspects_node);
  report.findings[0].culprit = {jobs::EntityKind::nic, "n0", -1, "mlx5_0"};
  EXPECT_TRUE(facts_of(report, "n0").suspects_network);
  EXPECT_TRUE(facts_of(report, "n0").suspects_node);
  report.findings[0].probability = 0.4;
  EXPECT_FALSE(facts_of(report, "n0").suspects_network) << "too unlikely";
}

TEST(FactsForValidation, a_nic_of_another_node_suspects_the_network_and_not_this_node) {
  jobs::JobReport report;
  report.findings.push_back({.culprit = {jobs::EntityKind::nic, "n1", -1, "mlx5_0"}, .probability = 0.8});
  EXPECT_TRUE(facts_of(report, "n0").suspects_network);
  EXPECT_FALSE(facts_of(report, "n0").suspects_node);
}

TEST(PairNodes, are_nodes_of_the_job_that_have_an_agent) {
  jobs::JobReport report;
  report.nodes = {"n2", "n0", "gone", "n1"};
  std::vector<fleet::Peer> peers{{.node = "n0", .address = {}},
                                 {.node = "n1", .address = {}},
                                 {.node = "n2", .address = {}},
                                 {.node = "n3", .address = {}}};
  EXPECT_EQ(pair_nodes_of(report, peers), (std::vector<std::string>{"n0", "n1", "n2"}));
  EXPECT_TRUE(pair_nodes_of(report, {}).empty());
  for (int node = 100; node < 200; ++node) {
    report.nodes.push_back("m" + std::to_string(node));
    peers.push_back({.node = report.nodes.back(), .address = {}});
  }
  const auto many = pair_nodes_of(report, peers);
  EXPECT_EQ(many.size(), diagnostics::Operations::kMaxReserved);
  EXPECT_EQ(many.front(), "m100");
}

TEST(FactsForValidation, a_typed_failure_without_an_outcome_is_a_failure) {
  jobs::JobReport report;
  report.failure = jobs::Failure{.kind = jobs::FailureKind::unclear};
  const JobFacts facts = facts_of(report, "n0");
  EXPECT_EQ(facts.outcome, JobOutcome::failed);
  EXPECT_TRUE(postflight::failed_without_cause(facts));
}

}  // namespace
}  // namespace autopilot::agent
