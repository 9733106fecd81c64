// SPDX-License-Identifier: Apache-2.0
#include "cli/configuration/settings_check.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

TEST(SettingsProblems, have_file_line_and_text) {
  const auto problems = problems_in("a.yaml:3: `x`: expected 1\na.yaml: empty\n\nb:4.yaml:12: y: z\nother\n",
                                    {"a.yaml", "b:4.yaml"});
  ASSERT_EQ(problems.size(), 4U);
  EXPECT_EQ(problems[0].file, "a.yaml");
  EXPECT_EQ(problems[0].line, 3);
  EXPECT_EQ(problems[0].what, "`x`: expected 1");
  EXPECT_EQ(problems[1].line, 0);
  EXPECT_EQ(problems[1].what, "empty");
  EXPECT_EQ(problems[2].file, "b:4.yaml");
  EXPECT_EQ(problems[2].line, 12);
  EXPECT_EQ(problems[3].file, "a.yaml") << "a line of no file";
  EXPECT_EQ(problems[3].what, "other");
}

TEST(SettingsProblems, of_no_file_keep_their_text) {
  const auto problems = problems_in("the text", {});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].file, "");
  EXPECT_EQ(problems[0].what, "the text");
}

}  // namespace
}  // namespace autopilot::cli
