// SPDX-License-Identifier: Apache-2.0
#include "host/slurm/scontrol.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "host/files/fd.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::scontrol_test {
namespace {

using testing::HasSubstr;

TEST(ScontrolName, is_one_node_and_never_an_option) {
  for (const char* name : {"n1", "gpu-001.example", "A_b"})
    EXPECT_TRUE(is_slurm_node(name)) << name;
  for (const char* name : {"n[1-3]", "n1,n2", "ALL", "all", "-n1", "n1 State=DOWN", "", "n1\n"})
    EXPECT_FALSE(is_slurm_node(name)) << name;
  EXPECT_FALSE(is_slurm_node(std::string(254, 'n')));
}

class ScontrolRun : public testing::Test {
 protected:
  Result<std::string> run(const std::string& script, Duration time = std::chrono::seconds{10}) {
    const std::string path = std::string(folder_.path()) + "/scontrol";
    std::ofstream(path) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return run_scontrol(runner_, path, {"show", "node", "n1"}, mono_now() + time);
  }

  TestFolder folder_;
  ChildRunner runner_;
};

TEST_F(ScontrolRun, returns_what_was_printed) {
  EXPECT_EQ(run("echo \"$1 $2 $3\"").value(), "show node n1\n");
}

TEST_F(ScontrolRun, a_failure_names_the_command_and_its_message) {
  const auto failed = run("echo 'Invalid node name' >&2; exit 1");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::unavailable);
  EXPECT_THAT(failed.error().what, HasSubstr("scontrol show node n1"));
  EXPECT_THAT(failed.error().what, HasSubstr("Invalid node name"));
}

TEST_F(ScontrolRun, ends_at_its_deadline) {
  EXPECT_EQ(run("exec sleep 60", std::chrono::milliseconds{100}).error().code, Errc::timed_out);
}

}  // namespace
}  // namespace autopilot::host::scontrol_test
