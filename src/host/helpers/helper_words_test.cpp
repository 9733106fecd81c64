// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr MonoTime kNow{1h};

TEST(HelperWords, lines_are_given_whole_however_they_come) {
  HelperWords words;
  EXPECT_THAT(words.take("NVML: one\nNVML: t", kNow), ElementsAre("NVML: one"));
  EXPECT_THAT(words.take("wo\n\nlast", kNow), ElementsAre("NVML: two", ""));
  EXPECT_THAT(words.finish(kNow), ElementsAre("last"));
  EXPECT_THAT(words.finish(kNow), IsEmpty());
}

TEST(HelperWords, a_line_of_megabytes_is_cut) {
  HelperWords words;
  for (int i = 0; i < 1000; ++i)
    EXPECT_THAT(words.take(std::string(1 << 12, 'x'), kNow), IsEmpty());
  EXPECT_THAT(words.take("\nnext\n", kNow), ElementsAre(std::string(HelperWords::kMaxLine, 'x'), "next"));
}

TEST(HelperWords, a_storm_of_lines_is_cut_and_that_is_said) {
  HelperWords words;
  std::string storm;
  for (std::size_t i = 0; i < HelperWords::kMaxLines * 3; ++i)
    storm += "again\n";
  const auto lines = words.take(storm, kNow);
  ASSERT_THAT(lines, SizeIs(HelperWords::kMaxLines + 1));
  EXPECT_THAT(lines.back(), ::testing::HasSubstr("left out"));
  EXPECT_THAT(words.take(storm, kNow + 59s), IsEmpty());
  EXPECT_THAT(words.take("later\n", kNow + HelperWords::kWindow), ElementsAre("later"));
}

}  // namespace
}  // namespace autopilot::host
