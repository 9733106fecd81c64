// SPDX-License-Identifier: Apache-2.0
#include "cli/output/report_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "cli/output/html_page.hpp"
#include "cli/output/lemon_tables.hpp"
#include "cli/output/report_numbers.hpp"

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kEndOfReport{std::chrono::hours(24 * 20'000)};

learning::FleetReport report_of_node(const std::string& node) {
  learning::Fault fault{.id = "1", .place = {.cluster = {}, .node = node, .gpu = {}}};
  fault.begin = kEndOfReport - std::chrono::hours(48);
  fault.end = kEndOfReport - std::chrono::hours(36);
  fault.kind = learning::FaultClass::hardware;
  fault.health = Health::failed;
  fault.check = "gpu.xid";
  learning::ReportRecords records;
  EXPECT_TRUE(learning::add_record(records, fault));
  auto report = learning::make_fleet_report(
      std::move(records), {kEndOfReport - std::chrono::days(30), kEndOfReport}, std::nullopt);
  EXPECT_TRUE(report);
  return std::move(*report);
}

learning::FleetReport report_of_nothing() {
  return *learning::make_fleet_report({}, {kEndOfReport - std::chrono::days(30), kEndOfReport}, 2.5);
}

TEST(ReportHtml, a_text_of_a_record_never_becomes_markup) {
  EXPECT_EQ(html_escaped("<b a=\"1\" c='2'>&amp;"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  EXPECT_EQ(html_escaped("a\x1b[2J\n"), "a?[2J?");
  const std::string page = report_html(report_of_node("<script>alert(1)</script>"));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(ReportHtml, the_page_needs_no_other_resource_and_prints) {
  const std::string page = report_html(report_of_node("gpu-1"));
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("@media print"));
}

TEST(ReportText, it_fits_80_columns_and_states_the_basis) {
  const std::string text = report_text(report_of_node("gpu-1"), {});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 80U) << line;
  // Known for 48 h, unusable for 12 h.
  EXPECT_THAT(text, HasSubstr("75.000 %"));
  EXPECT_THAT(text, HasSubstr("12.0 h"));
  EXPECT_THAT(text, HasSubstr("upper bound"));
}

TEST(ReportText, unknown_is_shown_as_unknown_and_never_as_good) {
  const std::string text = report_text(report_of_nothing(), {});
  EXPECT_THAT(text, HasSubstr("Report of 0 nodes"));
  EXPECT_THAT(text, Not(HasSubstr("100.0")));
  const std::string json = report_json(report_of_nothing());
  EXPECT_THAT(json, HasSubstr("\"share\":null"));
  EXPECT_THAT(json, HasSubstr("\"precision\":null"));
  EXPECT_THAT(json, HasSubstr("\"upperBound\":null"));
  EXPECT_THAT(json, HasSubstr("\"medianSeconds\":null"));
}

TEST(LemonTable, an_empty_answer_states_nodes_and_days) {
  learning::LemonList list;
  list.nodes = 12;
  list.days = 90;
  EXPECT_THAT(render_lemons(list, kEndOfReport, {}), HasSubstr("from 12 nodes and 90 days of"));
}

TEST(LemonTable, states_no_budget_of_none) {
  learning::LemonList list;
  list.nodes = 12;
  list.rows.resize(1);
  const std::string text = render_lemons(list, kEndOfReport, {});
  EXPECT_THAT(text, HasSubstr("fewer than 20"));
  EXPECT_THAT(text, Not(HasSubstr("At most 0")));
}

TEST(LemonTable, a_node_on_probation_is_shown_with_times_and_reason) {
  const auto report = report_of_node("gpu-1");
  const std::string text = render_lemons(report.lemons, kEndOfReport, {});
  EXPECT_THAT(text, HasSubstr("gpu-1"));
  EXPECT_THAT(text, HasSubstr(minute_text(kEndOfReport + std::chrono::hours(36)).substr(5)));
  EXPECT_THAT(text, HasSubstr("returned to service 36 h ago"));
}

TEST(ReportNumbers, hours_have_a_unit_that_people_can_read) {
  EXPECT_EQ(hours_words(std::nullopt), "unknown");
  EXPECT_EQ(hours_words(0.01), "36.0 s");
  EXPECT_EQ(hours_words(0.5), "30.0 min");
  EXPECT_EQ(hours_words(3.25), "3.2 h");
  EXPECT_EQ(hours_words(60), "2.5 d");
  EXPECT_EQ(hours_words(24 * 118'543.4), "118543 d");
}

}  // namespace
}  // namespace autopilot::cli
