// SPDX-License-Identifier: Apache-2.0
#include "cli/output/compare_pages.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "cli/output/compare_charts.hpp"

namespace autopilot::cli {
namespace {

namespace compared = workloads::compare;
using ::testing::HasSubstr;
using ::testing::Not;

compared::Side side_with(const std::string& letter, const std::string& file, std::size_t readings) {
  compared::Side side;
  side.letter = letter;
  side.name = "side <b>" + letter;
  compared::Series series;
  series.metric = "cpu.user";
  series.unit = "%";
  series.source = {file, 2, static_cast<int>(readings) + 1, 3, "%user"};
  for (std::size_t i = 0; i < readings; ++i)
    series.values.push_back(static_cast<double>(i % 10));
  compared::assume_times(series, 5);
  side.series.push_back(series);
  side.files.push_back(file);
  return side;
}

compared::Comparison comparison_of_two() {
  return compared::compare_sides(side_with("A", "a.csv", 1596), side_with("B", "<script>.csv", 100), {}, {});
}

TEST(CompareCharts, one_panel_for_each_file_over_all_of_its_time_with_stable_bytes) {
  const auto charts = compare_charts(comparison_of_two());
  ASSERT_EQ(charts.size(), 1U);
  const std::string& svg = charts[0].svg;
  EXPECT_EQ(svg, compare_charts(comparison_of_two())[0].svg);
  EXPECT_THAT(svg, HasSubstr("1596 readings over 2.2 h"));
  EXPECT_THAT(svg, HasSubstr("100 readings over 8.2 min"));
  EXPECT_THAT(svg, HasSubstr("<title id=\"chart-cpu-user-title\">CPU %user, % over time</title>"));
  // The last reading of the longer file is at the right end, that of the shorter one is not.
  EXPECT_THAT(svg, HasSubstr("L629."));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(CompareCharts, a_line_does_not_cross_a_gap) {
  auto a = side_with("A", "a.csv", 20);
  for (std::size_t i = 10; i < 20; ++i)
    a.series[0].seconds[i] += 600;
  const auto charts = compare_charts(compared::compare_sides(a, side_with("B", "b.csv", 2), {}, {}));
  const std::string& svg = charts.at(0).svg;
  const auto line = svg.substr(svg.find("class=\"line a\""));
  const std::string path = line.substr(0, line.find("/>"));
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
}

TEST(ComparePages, a_text_of_a_file_never_becomes_markup) {
  const auto comparison = comparison_of_two();
  EXPECT_THAT(compare_html(comparison), Not(HasSubstr("<script")));
  EXPECT_THAT(compare_html(comparison), HasSubstr("default-src 'none'"));
  EXPECT_THAT(compare_markdown(comparison), HasSubstr("side \\<b\\>A"));
}

TEST(ComparePages, the_verdict_comes_first_and_unknown_is_shown) {
  const auto comparison = comparison_of_two();
  const std::string text = compare_text(comparison, {});
  EXPECT_TRUE(text.starts_with("A (side <b>A) and B (side <b>B): not proven comparable\n")) << text;
  EXPECT_THAT(text, HasSubstr("neither is named better"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 80U) << line;
  const std::string json = compare_json(comparison);
  EXPECT_THAT(json, HasSubstr("\"comparability\":\"unproven\""));
  EXPECT_THAT(json, HasSubstr("\"winner\":null"));
  EXPECT_THAT(json, HasSubstr("\"source\":{\"file\":\"a.csv\",\"firstLine\":2,\"lastLine\":1597,\"column\":3,"
                              "\"name\":\"%user\"}"));
  EXPECT_THAT(compare_markdown(comparison),
              HasSubstr("neither side states throughput at several numbers of nodes"));
}

}  // namespace
}  // namespace autopilot::cli
