// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/slurm_actor.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>

#include "host/clock/system_clock.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::agent::slurm_actor_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ActionResult::Kind;

jobs::WantedAction wanted(const std::string& job = "slurm/1234") {
  jobs::WantedAction action;
  action.finding.id = "00112233aabbccdd";
  action.finding.job = job;
  action.finding.culprit = {.kind = jobs::EntityKind::host, .node = "gpu-001", .gpu = -1, .nic = {}};
  action.finding.summary = "node gpu-001 stops the job";
  action.request = {.job = job,
                    .choice = jobs::Choice::stop_now,
                    .culprit = action.finding.culprit,
                    .cause = "stopped",
                    .is_known = true};
  return action;
}

// A program in the place of scontrol, which writes its first argument into a file.
class SlurmActorTest : public ::testing::Test {
 protected:
  SlurmActorTest() { ends_with("exit 0"); }

  void ends_with(const std::string& end) const {
    std::ofstream(scontrol()) << "#!/bin/sh\necho \"$1\" >> '" << folder_.path() << "/log'\n" << end << '\n';
    std::filesystem::permissions(scontrol(), std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::string scontrol() const { return folder_ / "scontrol"; }
  [[nodiscard]] std::string log() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Of an agent that has just started.
  [[nodiscard]] SlurmActor actor() const { return {clock_, folder_ / "state/actions.json", scontrol()}; }

  host::TestFolder folder_;
  const std::shared_ptr<const Clock> clock_ = std::make_shared<host::SystemClock>();
};

TEST_F(SlurmActorTest, an_action_is_done_once_for_a_finding_also_after_a_restart) {
  {
    SlurmActor first = actor();
    const ActionResult done = first.act(wanted());
    EXPECT_EQ(done.kind, Kind::done) << done.message;
    EXPECT_TRUE(done.counts);
    EXPECT_EQ(first.act(wanted()).kind, Kind::repeated);
  }
  SlurmActor second = actor();
  const ActionResult again = second.act(wanted());
  EXPECT_EQ(again.kind, Kind::repeated);
  EXPECT_TRUE(again.counts);
  EXPECT_EQ(log(), "update\nrequeue\n");
}

TEST_F(SlurmActorTest, a_job_that_slurm_does_not_run_is_refused) {
  SlurmActor fresh = actor();
  for (const char* job : {"ml/Job/llama", "1234", "slurm/", "slurm/1;2", "uid1000/10.0.0.1:29500"}) {
    const ActionResult result = fresh.act(wanted(job));
    EXPECT_EQ(result.kind, Kind::refused) << job;
    EXPECT_FALSE(result.counts);
    EXPECT_THAT(result.message, HasSubstr("not one of Slurm"));
  }
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(SlurmActorTest, a_failure_is_not_repeated_and_counts_only_if_something_was_done) {
  ends_with("echo 'Access denied' >&2; exit 1");
  SlurmActor fresh = actor();
  const ActionResult failed = fresh.act(wanted());
  EXPECT_EQ(failed.kind, Kind::failed);
  EXPECT_FALSE(failed.counts);
  EXPECT_THAT(failed.message, HasSubstr("Access denied"));
  const ActionResult again = fresh.act(wanted());
  EXPECT_EQ(again.kind, Kind::repeated);
  EXPECT_FALSE(again.counts);
  EXPECT_EQ(log(), "update\n");

  ends_with("test \"$1\" = update");
  jobs::WantedAction other = wanted();
  other.finding.id = "ffeeddccbbaa0099";
  const ActionResult partly = fresh.act(other);
  EXPECT_EQ(partly.kind, Kind::failed);
  EXPECT_TRUE(partly.counts);
}

TEST_F(SlurmActorTest, an_action_whose_end_is_not_known_is_not_repeated) {
  auto ledger = ActionLedger::open(folder_ / "state/actions.json");
  ASSERT_TRUE(ledger);
  ASSERT_TRUE(ledger->put({.finding = wanted().finding.id,
                           .state = ActionState::begun,
                           .time = clock_->now().wall,
                           .request = wanted().request}));
  SlurmActor fresh = actor();
  const ActionResult result = fresh.act(wanted());
  EXPECT_EQ(result.kind, Kind::repeated);
  EXPECT_TRUE(result.counts);
  EXPECT_THAT(result.message, HasSubstr("check the job"));
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(SlurmActorTest, what_cannot_be_recorded_is_not_done) {
  folder_.write("/state", "a file in the place of the folder");
  SlurmActor fresh = actor();
  EXPECT_EQ(fresh.act(wanted()).kind, Kind::refused);
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(SlurmActorTest, without_a_readable_record_nothing_is_done) {
  folder_.write("/state/actions.json", "{");
  SlurmActor fresh = actor();
  const ActionResult result = fresh.act(wanted());
  EXPECT_EQ(result.kind, Kind::refused);
  EXPECT_THAT(result.message, HasSubstr("remove the file"));
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(SlurmActorTest, unknown_never_acts) {
  jobs::WantedAction action = wanted();
  action.request.is_known = false;
  SlurmActor fresh = actor();
  EXPECT_EQ(fresh.act(action).kind, Kind::refused);
  EXPECT_THAT(log(), IsEmpty());
}

}  // namespace
}  // namespace autopilot::agent::slurm_actor_test
