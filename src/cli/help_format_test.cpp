// SPDX-License-Identifier: Apache-2.0
#include "cli/help_format.hpp"

#include <gtest/gtest.h>

#include "cli/cli.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

TEST(HelpFormat, leaves_short_lines_alone) {
  const std::string text = "Usage: autopilot\n\n  -h,--help    Print this\n";
  EXPECT_EQ(wrapped(text), text);
}

TEST(HelpFormat, continues_under_the_description) {
  EXPECT_EQ(
      wrapped("  --long TEXT      " + std::string(40, 'a') + " " + std::string(30, 'b') + " c d"),
      "  --long TEXT      " + std::string(40, 'a') + "\n                   " + std::string(30, 'b') + " c d");
}

TEST(HelpFormat, continues_a_paragraph_at_its_beginning) {
  EXPECT_EQ(wrapped(std::string(50, 'a') + " " + std::string(50, 'b')),
            std::string(50, 'a') + "\n" + std::string(50, 'b'));
}

TEST(HelpFormat, keeps_a_word_that_has_no_room_anywhere) {
  const std::string word(100, 'w');
  EXPECT_EQ(wrapped(word), word);
  EXPECT_EQ(wrapped("  -x  " + word + " y"), "  -x  " + word + "\n      y");
}

TEST(HelpFormat, no_help_page_is_wider_than_a_terminal) {
  for (const char* verb : {"", "check", "status", "snapshot", "events", "explain", "ack", "agent", "inject",
                           "record", "completion", "version", "decode", "helper"}) {
    std::vector<std::string> words = {"autopilot"};
    if (*verb != '\0') words.emplace_back(verb);
    words.emplace_back("--help");
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run(static_cast<int>(argv.size()), argv.data()), kExitHealthy);
    const std::string page = ::testing::internal::GetCapturedStdout();
    EXPECT_NE(page.find("Usage: autopilot"), std::string::npos) << page;
    for (const std::string_view line : split(page, '\n'))
      EXPECT_LE(line.size(), kHelpColumns) << verb << ": " << line;
  }
}

}  // namespace
}  // namespace autopilot::cli
