// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/dcgm/test_words.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace autopilot::host {
namespace {

const std::vector<std::string> kFatal{"PCIe", "NVLink", "ECC", "GPU Memory"};

TEST(TestWords, a_name_becomes_one_word) {
  EXPECT_EQ(test_word("Page Retirement/Row Remap"), "page_retirement_row_remap");
  EXPECT_EQ(test_word(" a|b\tc "), "a_b_c");
  EXPECT_EQ(test_word(""), "");
}

TEST(TestWords, the_list_says_what_is_fatal) {
  for (const auto* test : {"memory", "gpu_memory", "pcie", "nvlink", "memory_ecc"})
    EXPECT_TRUE(is_fatal_test(test, kFatal)) << test;
  for (const auto* test : {"memory_bandwidth", "software", "targeted_power", ""})
    EXPECT_FALSE(is_fatal_test(test, kFatal)) << test;
}

TEST(TestWords, a_name_of_blanks_makes_nothing_fatal) {
  const std::vector<std::string> blank{"", "  "};
  EXPECT_FALSE(is_fatal_test("pcie", blank));
}

}  // namespace
}  // namespace autopilot::host
