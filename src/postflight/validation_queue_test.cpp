// SPDX-License-Identifier: Apache-2.0
#include "postflight/validation_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::postflight {
namespace {

using testing::ElementsAre;

class WaitingValidations : public testing::Test {
 protected:
  void add(const std::string& job, learning::JobOutcome outcome, int tries = 1) {
    ValidationWork work;
    work.number = next_++;
    work.job.job = job;
    work.job.name = job;
    work.facts.outcome = outcome;
    work.tries = tries;
    if (tries == 1)
      queue_.add(std::move(work));
    else
      EXPECT_TRUE(queue_.add_retry(std::move(work)));
  }
  void add_failed(const std::string& job) { add(job, learning::JobOutcome::failed); }
  void add_completed(const std::string& job) { add(job, learning::JobOutcome::completed); }
  std::string take() {
    const auto taken = queue_.take([](const ValidationWork&) { return true; });
    return taken ? taken->job.job : "";
  }
  std::vector<std::string> take_all() {
    std::vector<std::string> jobs;
    for (std::string job = take(); !job.empty(); job = take())
      jobs.push_back(job);
    return jobs;
  }

  ValidationQueue queue_{"n0"};
  std::uint64_t next_ = 1;
};

TEST_F(WaitingValidations, failed_jobs_are_first_and_repetitions_last) {
  add("a/again", learning::JobOutcome::completed, 2);
  add_completed("b/1");
  add_completed("c/1");
  add_failed("d/1");
  EXPECT_THAT(take_all(), ElementsAre("d/1", "b/1", "c/1", "a/again"));
}

TEST_F(WaitingValidations, users_take_turns) {
  for (const char* job : {"loop/1", "loop/2", "loop/3", "ml/1", "uid7/1", "ml/2"})
    add_failed(job);
  EXPECT_THAT(take_all(), ElementsAre("loop/1", "ml/1", "uid7/1", "loop/2", "ml/2", "loop/3"));
}

TEST_F(WaitingValidations, a_user_whose_jobs_fail_in_a_loop_does_not_stop_others) {
  add_completed("ml/1");
  add_completed("uid7/1");
  int before_ml = 0;
  for (std::string job; job != "ml/1"; ++before_ml) {
    ASSERT_LE(before_ml, ValidationQueue::kMostPassedOver);
    add_failed("loop/" + std::to_string(2 * before_ml));
    add_failed("loop/" + std::to_string(2 * before_ml + 1));
    job = take();
  }
  EXPECT_EQ(take(), "uid7/1") << "the jobs of the loop were passed over as often, but had their turns";
}

TEST_F(WaitingValidations, a_job_that_is_not_ready_is_not_passed_over) {
  add_failed("ml/1");
  add_failed("ml/2");
  const auto taken = queue_.take([](const ValidationWork& work) { return work.job.job == "ml/2"; });
  ASSERT_TRUE(taken);
  EXPECT_EQ(queue_.find(1)->passed_over, 0);
  EXPECT_EQ(queue_.find(2), nullptr);
  EXPECT_FALSE(queue_.take([](const ValidationWork&) { return false; }));
}

TEST_F(WaitingValidations, the_oldest_repetition_beyond_the_limit_is_dropped) {
  add_completed("ml/1");
  for (std::size_t at = 0; at < ValidationQueue::kMostRetries; ++at)
    add("again/" + std::to_string(at), learning::JobOutcome::completed, 2);
  ValidationWork more;
  more.number = next_++;
  more.tries = 3;
  EXPECT_FALSE(queue_.add_retry(std::move(more)));
  EXPECT_EQ(queue_.find(2), nullptr);
  EXPECT_NE(queue_.find(1), nullptr);
  EXPECT_EQ(queue_.first_tries(), 1U);
}

TEST(Submitter, is_what_the_key_of_the_job_states) {
  const auto submitter = [](const std::string& key, const std::string& name = "train") {
    EndedJob job;
    job.job = key;
    job.name = name;
    return submitter_of(job, "gpu-001");
  };
  EXPECT_EQ(submitter("ml/llama-3f2a"), "ml");
  EXPECT_EQ(submitter("uid1000/10.0.0.1:29500"), "uid1000");
  EXPECT_EQ(submitter("gpu-001/uid1000/29500/net7"), "uid1000");
  EXPECT_EQ(submitter("slurm/17"), submitter("slurm/18"));
  EXPECT_NE(submitter("slurm/17"), submitter("slurm/17", "eval"));
  EXPECT_EQ(submitter("gpu-001/python-4-99"), submitter("gpu-001/python-5-100"));
  EXPECT_NE(submitter("train"), "train");
  EXPECT_EQ(submitter("train", ""), "train");
}

}  // namespace
}  // namespace autopilot::postflight
