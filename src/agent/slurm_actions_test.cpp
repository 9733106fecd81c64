// SPDX-License-Identifier: Apache-2.0
#include "agent/slurm_actions.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "host/clock/system_clock.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::agent::slurm_actions_test {
namespace {

using ::testing::HasSubstr;

jobs::WantedAction wanted(jobs::Choice choice) {
  jobs::JobFinding finding;
  finding.id = "00112233aabbccdd";
  finding.job = "slurm/1234";
  finding.culprit = {.kind = jobs::EntityKind::gpu, .node = "gpu-001", .gpu = 3, .nic = {}};
  finding.cause = "xid_79";
  return {.finding = finding,
          .request = {.job = finding.job,
                      .choice = choice,
                      .culprit = finding.culprit,
                      .cause = finding.cause,
                      .is_known = true},
          .owner = {}};
}

const SlurmCommand kDrain{{"update", "NodeName=gpu-001", "State=DRAIN",
                           "Reason=autopilot 00112233aabbccdd: GPU 3 of gpu-001, xid_79"}};
const SlurmCommand kRequeue{{"requeue", "1234"}};

TEST(SlurmActions, a_stop_drains_the_node_before_the_job_is_requeued) {
  EXPECT_EQ(slurm_commands(wanted(jobs::Choice::stop_now)).value(), (std::vector{kDrain, kRequeue}));
  EXPECT_EQ(slurm_commands(wanted(jobs::Choice::swap_at_checkpoint)).value(), std::vector{kDrain});
  EXPECT_EQ(slurm_commands(wanted(jobs::Choice::restart_in_place)).value(), std::vector{kRequeue});
}

TEST(SlurmActions, without_an_accused_node_none_is_drained) {
  jobs::WantedAction action = wanted(jobs::Choice::stop_now);
  action.finding.culprit = {.kind = jobs::EntityKind::program};
  EXPECT_EQ(slurm_commands(action).value(), std::vector{kRequeue});
  action.request.choice = jobs::Choice::keep_running;
  EXPECT_EQ(slurm_commands(action).error().code, Errc::unsupported);
}

TEST(SlurmActions, unknown_never_acts) {
  jobs::WantedAction action = wanted(jobs::Choice::stop_now);
  action.request.is_known = false;
  EXPECT_EQ(slurm_commands(action).error().code, Errc::denied);
}

TEST(SlurmActions, a_name_never_means_several_nodes_or_an_option) {
  for (const char* name : {"n[1-3]", "n1,n2", "ALL", "all", "-n1", "n1 State=DOWN", "", "n1\n"}) {
    jobs::WantedAction action = wanted(jobs::Choice::stop_now);
    action.finding.culprit.node = name;
    EXPECT_EQ(slurm_commands(action).error().code, Errc::malformed) << name;
  }
}

TEST(SlurmActions, only_a_number_is_an_id_of_a_job) {
  EXPECT_EQ(parse_slurm_job("1234"), "1234");
  EXPECT_EQ(parse_slurm_job("slurm-1234_7"), "1234_7");
  for (const char* job : {"", "slurm/", "12a", "1234;rm", "1_", "_1", "ml/llama", "12345678901"})
    EXPECT_FALSE(parse_slurm_job(job)) << job;
}

// A program in the place of scontrol, which writes its arguments into a file.
class Scontrol : public ::testing::Test {
 protected:
  void write(const std::string& end) {
    std::ofstream(path()) << "#!/bin/sh\nfor word in \"$@\"; do printf '%s|' \"$word\"; done >> '"
                          << folder_.path() << "/log'\necho >> '" << folder_.path() << "/log'\n"
                          << end << '\n';
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::string path() const { return std::string(folder_.path()) + "/scontrol"; }
  [[nodiscard]] std::string log() const {
    std::ifstream file(std::string(folder_.path()) + "/log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] Status run() {
    return run_slurm_commands(runner_, clock_, path(),
                              slurm_commands(wanted(jobs::Choice::stop_now)).value());
  }

  host::TestFolder folder_;
  const host::SystemClock clock_;
  host::ChildRunner runner_;
};

TEST_F(Scontrol, gets_each_argument_as_it_is) {
  write("exit 0");
  const Status done = run();
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(
      log(),
      "update|NodeName=gpu-001|State=DRAIN|Reason=autopilot 00112233aabbccdd: GPU 3 of gpu-001, xid_79|\n"
      "requeue|1234|\n");
}

TEST_F(Scontrol, gets_the_place_of_the_configuration_and_no_other_variable) {
  ::setenv("SLURM_CONF", "/opt/slurm/slurm.conf", 1);
  ::setenv("SLURM_JOB_ID", "77", 1);
  write("echo \"conf=$SLURM_CONF job=$SLURM_JOB_ID\" >&2; exit 1");
  const Status done = run();
  ::unsetenv("SLURM_CONF");
  ::unsetenv("SLURM_JOB_ID");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("conf=/opt/slurm/slurm.conf job="));
  EXPECT_THAT(done.error().what, ::testing::Not(HasSubstr("job=77")));
}

TEST_F(Scontrol, a_command_that_fails_ends_the_action_with_its_message) {
  write("echo 'slurm_update error: Access denied' >&2; exit 1");
  const Status done = run();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("scontrol update NodeName=gpu-001"));
  EXPECT_THAT(done.error().what, HasSubstr("Access denied"));
  EXPECT_EQ(log().find("requeue"), std::string::npos);
}

TEST_F(Scontrol, a_missing_program_is_an_error) {
  EXPECT_FALSE(run());
}

}  // namespace
}  // namespace autopilot::agent::slurm_actions_test
