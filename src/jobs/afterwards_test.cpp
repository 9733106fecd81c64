// SPDX-License-Identifier: Apache-2.0
#include "jobs/afterwards.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "jobs/assembly.hpp"
#include "jobs/brain.hpp"

namespace autopilot::jobs::afterwards_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr WallTime kBegin{std::chrono::hours(500000)};
constexpr const char* kLlama = "ml/llama";

std::string node(int number) {
  return "node-" + std::to_string(number);
}

JobRecord job_on(int nodes, WallTime time, int attempt = 1) {
  JobRecord job{.time = time, .job = kLlama, .attempt = attempt};
  for (int rank = 0; rank < nodes; ++rank)
    job.ranks.push_back({.rank = rank, .node = node(rank), .gpu = 0});
  return job;
}

ValidationRecord validated(int number, ValidationVerdict verdict, WallTime time) {
  ValidationRecord record{
      .time = time, .node = node(number), .job = kLlama, .verdict = verdict, .failed = {}};
  if (verdict == ValidationVerdict::failed) {
    record.text = "1 of 31 checks not as good as before the job";
    record.failed.push_back({.check = "network.rdma",
                             .reason = "port_down",
                             .gpu = {},
                             .text = "mlx5_0 port 1: the port is down"});
  }
  if (verdict == ValidationVerdict::unknown) record.text = "the next job began";
  return record;
}

// A job of some nodes that has ended.
class EndedJobBrain {
 public:
  explicit EndedJobBrain(int nodes, Outcome outcome = Outcome::failed) {
    brain_.advance(kBegin);
    brain_.add(job_on(nodes, kBegin));
    brain_.advance(kBegin + 60s);
    brain_.add(JobEndRecord{.time = kBegin + 60s, .job = kLlama, .outcome = outcome});
    brain_.advance(kBegin + 70s);
    (void)brain_.take_changed();
  }
  void validate(int number, ValidationVerdict verdict, Duration after = 2min) {
    brain_.add(validated(number, verdict, kBegin + after));
    brain_.advance(kBegin + after + 10s);
  }
  Brain& brain() { return brain_; }
  std::optional<Afterwards> afterwards() { return brain_.report(kLlama).value().afterwards; }
  std::string text() { return sentence_of(afterwards().value()); }

 private:
  Brain brain_;
};

TEST(JobAfterwards, the_nodes_that_are_not_as_good_are_named_with_what_is_wrong) {
  EndedJobBrain job(16);
  for (int number = 0; number < 16; ++number)
    job.validate(number, number == 7 ? ValidationVerdict::failed : ValidationVerdict::passed);
  EXPECT_EQ(job.text(),
            "1 of 16 nodes not as good as before: node-7 (network.rdma: mlx5_0 port 1: the port is down); "
            "probable cause of the failure: network.rdma on node-7; restart without node-7");
}

TEST(JobAfterwards, unknown_and_missing_nodes_are_not_counted_as_good) {
  EndedJobBrain job(4);
  job.validate(0, ValidationVerdict::passed);
  job.validate(1, ValidationVerdict::unknown);
  EXPECT_EQ(
      job.text(),
      "1 of 4 nodes as good as before; unknown on 1 node: node-1 (the next job began); 2 nodes without a "
      "result");
}

TEST(JobAfterwards, one_result_of_many_is_no_cause_of_the_failure) {
  EndedJobBrain job(16);
  job.validate(3, ValidationVerdict::failed);
  EXPECT_EQ(job.text(),
            "1 of 16 nodes not as good as before: node-3 (network.rdma: mlx5_0 port 1: the port is down); 15 "
            "nodes without a result; no advice before three of four nodes passed or failed");
  for (int number = 4; number < 15; ++number)
    job.validate(number, ValidationVerdict::passed);
  EXPECT_THAT(job.text(),
              HasSubstr("probable cause of the failure: network.rdma on node-3; restart without"));
}

TEST(JobAfterwards, a_fault_of_most_nodes_is_not_blamed_on_them) {
  EndedJobBrain job(3);
  for (const int number : {0, 1})
    job.validate(number, ValidationVerdict::failed);
  EXPECT_THAT(job.text(), HasSubstr("look for their common cause"));
  EXPECT_THAT(job.text(), Not(HasSubstr("restart without")));
  EXPECT_THAT(job.text(), Not(HasSubstr("probable cause of the failure")));
}

TEST(JobAfterwards, a_complete_job_has_no_cause_of_failure) {
  EndedJobBrain job(2, Outcome::completed);
  job.validate(0, ValidationVerdict::passed);
  job.validate(1, ValidationVerdict::failed);
  EXPECT_EQ(job.afterwards()->cause, "");
  EXPECT_THAT(job.text(), HasSubstr("restart without node-1"));
}

TEST(JobAfterwards, a_late_result_replaces_the_first_and_an_older_one_does_not) {
  EndedJobBrain job(2);
  EXPECT_FALSE(job.afterwards());
  job.validate(1, ValidationVerdict::unknown, 2min);
  EXPECT_THAT(job.brain().take_changed(), SizeIs(1));
  job.validate(1, ValidationVerdict::passed, 5h);
  EXPECT_THAT(job.brain().take_changed(), SizeIs(1));
  EXPECT_EQ(job.afterwards()->passed, 1);
  EXPECT_EQ(job.afterwards()->unknown, 0);
  job.brain().add(validated(1, ValidationVerdict::failed, kBegin + 3min));
  EXPECT_EQ(job.afterwards()->failed, 0);
}

TEST(JobAfterwards, a_node_states_nothing_about_a_job_that_did_not_run_on_it) {
  EndedJobBrain job(2);
  job.validate(5, ValidationVerdict::failed);
  EXPECT_FALSE(job.afterwards());
  ValidationRecord other = validated(0, ValidationVerdict::failed, kBegin + 2min);
  other.job = "ml/other";
  job.brain().add(other);
  EXPECT_FALSE(job.brain().report("ml/other"));
}

TEST(JobAfterwards, a_node_sends_no_result_of_another_node) {
  Assembly assembly;
  std::vector<Record> out;
  assembly.add("node-1", validated(0, ValidationVerdict::failed, kBegin), out);
  EXPECT_THAT(out, SizeIs(0));
  EXPECT_EQ(assembly.dropped(), 1U);
  assembly.add("node-0", validated(0, ValidationVerdict::failed, kBegin), out);
  EXPECT_THAT(out, SizeIs(1));
}

TEST(JobAfterwards, a_node_that_left_before_the_others_counts) {
  Brain brain;
  brain.advance(kBegin);
  brain.add(job_on(3, kBegin));
  brain.add(job_on(2, kBegin + 30s));
  brain.add(validated(2, ValidationVerdict::failed, kBegin + 40s));
  EXPECT_EQ(brain.report(kLlama).value().afterwards->failed, 1);
  EXPECT_EQ(brain.report(kLlama).value().afterwards->nodes, 3);
}

TEST(JobAfterwards, the_next_attempt_begins_without_results) {
  EndedJobBrain job(2);
  job.validate(1, ValidationVerdict::failed);
  job.brain().add(job_on(2, kBegin + 1h, 2));
  EXPECT_FALSE(job.afterwards());
}

TEST(JobAfterwards, a_late_result_of_an_attempt_is_not_counted_for_the_next) {
  EndedJobBrain job(2);
  Brain& brain = job.brain();
  brain.add(job_on(2, kBegin + 1h, 2));
  brain.add(validated(0, ValidationVerdict::failed, kBegin + 59min));
  brain.add(validated(1, ValidationVerdict::unknown, kBegin + 1h + 5s));
  EXPECT_FALSE(job.afterwards());
  brain.add(JobEndRecord{.time = kBegin + 2h, .job = kLlama, .outcome = Outcome::failed});
  EXPECT_FALSE(job.afterwards());
}

// An agent validates as soon as its node is free; the job ends when all nodes reported their end.
TEST(JobAfterwards, a_result_before_the_end_is_known_counts_after_it) {
  Brain brain;
  brain.advance(kBegin);
  brain.add(job_on(2, kBegin));
  brain.add(validated(0, ValidationVerdict::passed, kBegin + 1h));
  EXPECT_FALSE(brain.report(kLlama).value().afterwards);
  brain.add(JobEndRecord{.time = kBegin + 1h + 10min, .job = kLlama, .outcome = Outcome::failed});
  EXPECT_EQ(brain.report(kLlama).value().afterwards->passed, 1);
}

TEST(JobAfterwards, details_are_bounded_and_numbers_are_not) {
  constexpr int nodes = 100;
  EndedJobBrain job(2 * nodes + 1);
  for (int number = 0; number < nodes; ++number)
    job.validate(number, ValidationVerdict::failed);
  EXPECT_EQ(job.afterwards()->failed, nodes);
  EXPECT_THAT(job.afterwards()->not_passed, SizeIs(Afterwards::kMostShown));
  EXPECT_THAT(job.text(), HasSubstr("and 96 more; "));
  EXPECT_LT(job.text().size(), 1100U);
}

// What an agent states about a node does not change what the engine finds.
TEST(JobAfterwards, a_result_does_not_change_the_evaluation) {
  EndedJobBrain with(2), without(2);
  with.validate(1, ValidationVerdict::failed);
  without.brain().advance(kBegin + 2min + 10s);
  EXPECT_EQ(with.brain().counts().records, without.brain().counts().records);
  EXPECT_EQ(with.brain().report(kLlama).value().findings.size(),
            without.brain().report(kLlama).value().findings.size());
}

}  // namespace
}  // namespace autopilot::jobs::afterwards_test
