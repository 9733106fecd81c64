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

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
