// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/check_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::compat::ibm_autopilot {
namespace {

using ::testing::ElementsAre;

TEST(CheckNames, all_anywhere_is_the_list_of_those_that_run_from_time_to_time) {
  const std::vector<std::string> periodic{"remapped", "gpupower"};
  EXPECT_EQ(named_checks("all", periodic), periodic);
  EXPECT_EQ(named_checks("pvc,all", periodic), periodic);
  EXPECT_THAT(named_checks("pvc,,remapped", periodic), ElementsAre("pvc", "", "remapped"));
}

TEST(CheckNames, names_are_case_sensitive) {
  EXPECT_EQ(find_check("remapped")->check, "gpu.row_remap");
  EXPECT_EQ(find_check("Remapped"), nullptr);
  EXPECT_EQ(find_check(""), nullptr);
}

TEST(CheckNames, the_limit_of_the_bandwidth_is_told_as_it_is) {
  EXPECT_EQ(preamble_of(*find_check("pciebw"), 4), "Requesting pcie test with bw: 4\n");
  EXPECT_EQ(preamble_of(*find_check("pciebw"), 4.5), "Requesting pcie test with bw: 4.5\n");
}

TEST(InvasiveText, names_the_labels_and_says_when_nothing_begins) {
  EXPECT_EQ(
      invasive_text("autopilot.ibm.com", 3, ""),
      "Launching invasive health checks. Their results are in the labels autopilot.ibm.com/gpuhealth and "
      "autopilot.ibm.com/dcgm.level.3 of the node.\n");
  EXPECT_EQ(invasive_text("a.b", 2, "Bob may\nnot"),
            "Not launching invasive health checks: bob may not. Results of earlier ones are in the labels "
            "a.b/gpuhealth and a.b/dcgm.level.2 of the node.\n");
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
