// SPDX-License-Identifier: Apache-2.0
#include "cli/man/roff.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

TEST(Roff, prints_text_as_it_is) {
  EXPECT_EQ(roff_text("a-b \\ 'c' \"d\" ~ ^ `"), "a\\-b \\e \\(aqc\\(aq \\(dqd\\(dq \\(ti \\(ha \\(ga");
  EXPECT_EQ(roff_text(".TH x\n.SH"), "\\&.TH x\n\\&.SH");
}

TEST(Roff, takes_code_and_links_of_markdown) {
  EXPECT_EQ(roff_of_markdown("Set `a.b`; see [the page](x.md#y), or `c"),
            "Set \\fBa.b\\fR; see the page, or \\(gac");
  EXPECT_EQ(roff_of_markdown("[a] (b)"), "[a] (b)");
}

TEST(Roff, a_page_has_a_title_and_sections) {
  RoffPage page("autopilot.yaml", 5, "2026-01-01", "autopilot 1");
  page.heading("NAME");
  page.paragraph("first");
  page.paragraph("second");
  page.item(roff_bold("-x"), "");
  const std::string text = page.take();
  EXPECT_NE(text.find(".TH \"AUTOPILOT.YAML\" 5 \"2026-01-01\""), std::string::npos) << text;
  EXPECT_NE(text.find(".SH \"NAME\"\nfirst\n.PP\nsecond\n.TP\n\\fB\\-x\\fR\n\\&\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace autopilot::cli
