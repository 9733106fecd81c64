// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/status_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::compat::ibm_autopilot {
namespace {

using ::testing::ElementsAre;

TEST(StatusWords, a_reply_without_failures_is_ok) {
  EXPECT_THAT(status_words("\n[[ DCGM ]] SUCCESS\ncheck not supported: nic"), ElementsAre("OK"));
  EXPECT_THAT(status_words(""), ElementsAre("OK"));
  EXPECT_THAT(status_words("[[ PCIEBW ]] SKIP: GPU in use by a/b"), ElementsAre("OK"));
}

TEST(StatusWords, every_line_with_a_tag_and_a_failure_is_a_word) {
  EXPECT_THAT(
      status_words("[[ PCIEBW ]] FAIL\n[[ REMAPPED ROWS ]] FAIL\nFAIL\n[[ DCGM ]] ABORT\n[GPU POWER] FAIL\n"
                   "[PING] At least one node unreachable. FAIL\n"
                   "[[ GPU-MEM ]] Health Check unsuccessful. FAIL.\n[PVC Create-Delete] FAIL\n"
                   "Server Disconnected. ABORT"),
      ElementsAre("PCIE Failed", "REMAPPED ROWS Failed", "DCGM Failed", "GPU POWER Failed", "PING Failed",
                  "GPU MEM Test Failed", "PVC Create-Delete Test Failed", "Connection to Server Failed"));
}

TEST(StatusWords, the_first_tag_of_the_list_decides_and_what_repeats_is_repeated) {
  EXPECT_THAT(status_words("DCGM and PCIE FAIL\n[[ DCGM ]] ABORT\n[[ DCGM ]] FAIL"),
              ElementsAre("PCIE Failed", "DCGM Failed", "DCGM Failed"));
}

TEST(StatusWords, small_letters_say_nothing) {
  EXPECT_THAT(status_words("[[ DCGM ]] fail abort\n[[ dcgm ]] FAIL"), ElementsAre("OK"));
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
