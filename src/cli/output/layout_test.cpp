// SPDX-License-Identifier: Apache-2.0
#include "cli/output/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output/phrases.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Columns, are_as_wide_as_what_stands_in_them) {
  EXPECT_EQ(render_columns({"NODE", "WHAT"}, {{{"a"}, {"one"}}, {{"longer"}, {""}}}, {}),
            "NODE    WHAT\na       one\nlonger\n");
}

TEST(Columns, the_last_is_wrapped_in_its_place) {
  const std::string words =
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
  const auto text = render_columns({"NODE", "WHAT"}, {{{"gpu-7"}, {words}}}, {});
  EXPECT_THAT(text, HasSubstr("\n       "));
  for (const auto line : split(text, '\n'))
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(Columns, a_long_name_leaves_the_last_lines_of_its_own) {
  const std::string name(200, 'n');
  const auto text = render_columns({"NODE", "WHAT"}, {{{name}, {"one two"}}, {{"b"}, {"three"}}}, {});
  EXPECT_THAT(text, HasSubstr(name + "\n    one two\nb\n    three\n"));
}

TEST(Columns, are_coloured_only_where_the_style_says_so) {
  const std::vector<Row> rows{{{"a", "\033[32m"}, {"b"}}};
  EXPECT_THAT(render_columns({"A", "B"}, rows, {}), Not(HasSubstr("\033")));
  EXPECT_THAT(render_columns({"A", "B"}, rows, {.color = true, .width = 80}), HasSubstr("\033[32ma"));
}

TEST(Columns, no_control_character_comes_through) {
  const auto text = render_columns({"A", "B"}, {{{"a\033[2J\nb"}, {"c\xc2\x9b\rd"}}}, {});
  EXPECT_EQ(text, "A        B\na?[2J?b  c??d\n");
}

TEST(Age, has_one_unit) {
  const WallTime then{1'800'000'000s};
  EXPECT_EQ(age_of(then, then + 59s), "59s");
  EXPECT_EQ(age_of(then, then + 119min), "1h");
  EXPECT_EQ(age_of(then, then + 59min), "59m");
  EXPECT_EQ(age_of(then, then + 49h), "2d");
  EXPECT_EQ(age_of(then, then - 1h), "0s");
  EXPECT_EQ(age_of(WallTime::min(), WallTime::max()), "106751d");
}

}  // namespace

}  // namespace autopilot::cli
