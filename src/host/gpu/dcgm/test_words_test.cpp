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

TEST(TestWords, an_excuse_holds_for_the_error_and_what_its_warning_says) {
  const std::vector<DcgmExcuse> excuses{{45, "link generation"}, {47, ""}};
  EXPECT_TRUE(is_excused(45, "GPU 0 is running at PCI Link Generation 3", excuses));
  EXPECT_TRUE(is_excused(45, "", excuses));
  EXPECT_FALSE(is_excused(45, "bandwidth of 5.2 failed to meet 10.0", excuses));
  EXPECT_TRUE(is_excused(47, "whatever", excuses));
  EXPECT_FALSE(is_excused(30, "PCI link generation 3", excuses));
  EXPECT_FALSE(is_excused(std::nullopt, "PCI link generation 3", excuses)) << "DCGM 2 tells no number";
}

TEST(TestWords, excuses_are_an_argument_of_a_helper) {
  const std::vector<DcgmExcuse> excuses{{45, "link generation"}, {47, ""}};
  EXPECT_EQ(format_excuses(excuses), "45:link generation,47");
  EXPECT_EQ(parse_excuses("45:link generation,47").value(), excuses);
  EXPECT_TRUE(parse_excuses("").value().empty());
  for (const char* wrong : {"x", "45,", ",", "45:a,b", "99999999999999999999"})
    EXPECT_EQ(parse_excuses(wrong).error().code, Errc::malformed) << wrong;
}

}  // namespace
}  // namespace autopilot::host
