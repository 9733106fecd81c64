// SPDX-License-Identifier: Apache-2.0
#include "postflight/pair_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

namespace autopilot::postflight {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

PairRun run_with(std::vector<std::pair<Subject, std::string>> suspects) {
  PairRun run{.check = "network.bandwidth", .nodes = {"n0", "n1", "n2"}, .said = "measured", .result = {}};
  run.result.emplace();
  for (auto& [subject, sentence] : suspects) {
    Finding& finding = run.result->findings.emplace_back();
    finding.subject = subject;
    finding.health = Health::degraded;
    finding.message = std::move(sentence);
  }
  return run;
}

Subject subject_of(SubjectKind kind, const char* key) {
  Subject subject;
  subject.kind = kind;
  subject.key = key;
  return subject;
}

JobFacts suspected(std::vector<std::string> nodes) {
  return {.suspects_network = true, .pair_nodes = std::move(nodes)};
}

TEST(PairTestOfAJob, is_started_by_one_of_its_nodes) {
  const JobFacts job = suspected({"n0", "n1", "n2"});
  EXPECT_TRUE(starts_pair_test(job, "n0"));
  EXPECT_FALSE(awaits_pair_test(job, "n0"));
  EXPECT_TRUE(awaits_pair_test(job, "n2"));
  EXPECT_FALSE(starts_pair_test(job, "n2"));
  EXPECT_FALSE(awaits_pair_test(job, "n3")) << "it takes no part";
  EXPECT_FALSE(starts_pair_test(suspected({"n0"}), "n0")) << "there is no pair";
  EXPECT_FALSE(starts_pair_test(suspected({}), "n0"));
  EXPECT_FALSE(starts_pair_test({.pair_nodes = {"n0", "n1"}}, "n0")) << "nothing is suspected";
}

TEST(PairTestOfAJob, accuses_this_node_only_if_the_suspect_is_of_it) {
  for (const auto& [kind, key, is_own] : {std::tuple{SubjectKind::peer, "n1", true},
                                          {SubjectKind::peer, "n10", false},
                                          {SubjectKind::nic_port, "n1:net0", true},
                                          {SubjectKind::nic_port, "n10:net0", false},
                                          {SubjectKind::link, "n1/net0|n2/net0", false}}) {
    const auto outcomes = own_outcomes_of(run_with({{subject_of(kind, key), "slow"}}), "n1");
    ASSERT_THAT(outcomes, SizeIs(1));
    EXPECT_EQ(outcomes[0].health, is_own ? Health::degraded : Health::healthy) << key;
    EXPECT_THAT(outcomes[0].text, HasSubstr("slow"));
  }
}

TEST(PairTestOfAJob, states_a_limited_number_of_suspects) {
  const std::string longest(10'000, 'x');
  const PairRun run = run_with(std::vector(100, std::pair(subject_of(SubjectKind::peer, "n1"), longest)));
  const learning::PairTest test = pair_test_of(run);
  EXPECT_THAT(test.suspects, SizeIs(learning::PairTest::kMostSuspects));
  EXPECT_THAT(to_sentence(test), HasSubstr("; and 13 more"));
  EXPECT_LT(to_sentence(test).size(), 1500U);
}

TEST(PairTestOfAJob, without_a_result_states_why) {
  const PairRun run{
      .check = "network.bandwidth", .nodes = {"n0", "n1"}, .said = "no agent answers", .result = {}};
  EXPECT_EQ(to_sentence(pair_test_of(run)), "test between 2 nodes: no agent answers");
  EXPECT_THAT(own_outcomes_of(run, "n0"), SizeIs(0));
}

}  // namespace
}  // namespace autopilot::postflight
