// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/slurm_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::cli::slurm_node_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What scontrol of Slurm 22.05 prints, shortened.
std::string shown(const std::string& state, const std::string& reason) {
  return "NodeName=n2 Arch=x86_64 CoresPerSocket=1 \n"
         "   CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=1.23\n"
         "   NodeAddr=10.9.0.2 NodeHostName=n2 Version=22.05.8\n"
         "   State=" +
         state +
         " ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
         "   Partitions=all \n" +
         (reason.empty() ? "" : "   Reason=" + reason + " [root@2026-11-30T01:02:03]\n") + "\n";
}

TEST(SlurmNode, has_states_and_a_reason_without_its_author) {
  const auto node = parse_slurm_node(shown("IDLE*+DRAIN", "autopilot: gpu_lost 0123abcd-12"), "n2");
  ASSERT_TRUE(node) << node.error().what;
  EXPECT_THAT(node->states, ElementsAre("IDLE", "NOT_RESPONDING", "DRAIN"));
  EXPECT_EQ(node->reason, "autopilot: gpu_lost 0123abcd-12");
  EXPECT_TRUE(node->has_own_reason());
  EXPECT_TRUE(node->is_unavailable());
}

TEST(SlurmNode, a_reason_of_a_person_is_not_ours) {
  EXPECT_FALSE(parse_slurm_node(shown("IDLE+DRAIN", "bad fan, see autopilot: 12"), "n2")->has_own_reason());
  EXPECT_EQ(parse_slurm_node(shown("IDLE+DRAIN", "rack [B]"), "n2")->reason, "rack [B]");
  const auto free = parse_slurm_node(shown("MIXED", ""), "n2");
  EXPECT_EQ(free->reason, "");
  EXPECT_FALSE(free->is_unavailable());
}

TEST(SlurmNode, a_node_of_a_cloud_that_is_only_drained_can_be_resumed) {
  for (const char* state : {"IDLE+CLOUD+DRAIN", "MIXED+CLOUD+DYNAMIC_NORM+DRAIN", "IDLE+DRAIN+DYNAMIC_FUTURE",
                            "ALLOCATED+DRAIN+RESERVED", "IDLE-+DRAIN", "IDLE+DRAIN+PLANNED"})
    EXPECT_TRUE(parse_slurm_node(shown(state, "autopilot: gpu_lost 1"), "n2")->is_only_drained()) << state;
}

TEST(SlurmNode, a_condition_beside_the_drain_keeps_the_node_drained) {
  for (const char* state :
       {"DOWN+DRAIN", "IDLE+CLOUD+DRAIN+POWERED_DOWN", "IDLE~+CLOUD+DRAIN", "IDLE*+DRAIN", "IDLE@+DRAIN",
        "IDLE+DRAIN+NOT_RESPONDING", "IDLE+DRAIN+INVALID_REG", "IDLE+DRAIN+MAINTENANCE", "IDLE+DRAIN+MAINT",
        "IDLE+DRAIN+REBOOT_REQUESTED", "IDLE+DRAIN+POWERING_UP", "IDLE+DRAIN+FAIL", "IDLE+DRAIN+NEW_STATE"})
    EXPECT_FALSE(parse_slurm_node(shown(state, "autopilot: gpu_lost 1"), "n2")->is_only_drained()) << state;
}

TEST(SlurmNode, the_state_of_a_node_that_does_not_answer_has_a_mark) {
  EXPECT_THAT(parse_slurm_node(shown("DOWN*", "Not responding"), "n2")->states,
              ElementsAre("DOWN", "NOT_RESPONDING"));
  EXPECT_TRUE(parse_slurm_node(shown("DOWN*", "Not responding"), "n2")->is_unavailable());
}

TEST(SlurmNode, another_answer_is_an_error) {
  EXPECT_THAT(parse_slurm_node(shown("IDLE", ""), "n1").error().what, HasSubstr("n1"));
  EXPECT_FALSE(parse_slurm_node(shown("IDLE", "") + shown("IDLE", ""), "n2"));
  EXPECT_FALSE(parse_slurm_node("NodeName=n2 Arch=x\n", "n2")) << "no state";
  for (const std::string& text : {std::string(), std::string(1 << 16, 'x'), std::string("\0\xff\n", 3)})
    EXPECT_FALSE(parse_slurm_node(text, "n2"));
}

}  // namespace
}  // namespace autopilot::cli::slurm_node_test
