// SPDX-License-Identifier: Apache-2.0
#include "cli/output/scroll.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(OutdatedPage, keeps_the_page_dimmed_behind_the_time_without_an_answer) {
  using namespace std::chrono_literals;
  const Instant answered{WallTime{1'800'000'010s}, MonoTime{100s}};
  // The wall clock was set forward by an hour.
  const Instant now{answered.wall + 1h, MonoTime{112s}};
  const std::string notice = no_answer_text(answered, now);
  EXPECT_EQ(notice, "no agent answers since 12s; the page is from 08:00:10 UTC");
  ScreenPage page{{"gpu-017  healthy"}, {"", "GPU 0"}, "q quits"};
  mark_outdated(page, {notice}, true);
  EXPECT_THAT(page.header, ElementsAre(notice, "\033[2mgpu-017  healthy\033[0m"));
  EXPECT_THAT(page.body, ElementsAre("", "\033[2mGPU 0\033[0m"));
  ScreenPage plain{{"gpu-017  healthy"}, {"GPU 0"}, ""};
  mark_outdated(plain, {notice}, false);
  EXPECT_THAT(plain.body, ElementsAre("GPU 0"));
}

ScreenPage long_page() {
  ScreenPage page{.header = {"HEAD"}, .body = {}, .hint = "q quits"};
  for (int i = 0; i < 40; ++i)
    page.body.push_back("line " + std::to_string(i));
  return page;
}

TEST(Keys, arrows_pages_and_letters_are_known_and_other_sequences_are_skipped_whole) {
  EXPECT_THAT(keys_in("\033[A\033OB\033[5~\033[6~"),
              ElementsAre(Key::up, Key::down, Key::page_up, Key::page_down));
  EXPECT_THAT(keys_in("a q\033[H\033[F"),
              ElementsAre(Key::all, Key::page_down, Key::quit, Key::home, Key::end));
  EXPECT_THAT(keys_in("\033[1;5Aq"), ElementsAre(Key::quit));
  EXPECT_THAT(keys_in("\033[20~\033OPx"), IsEmpty());
  EXPECT_THAT(keys_in("\033[1;"), IsEmpty());
  EXPECT_THAT(keys_in("\033"), IsEmpty());
  EXPECT_THAT(keys_in(""), IsEmpty());
}

TEST(Scroll, the_header_stays_while_the_body_moves_to_both_ends) {
  const ScreenPage page = long_page();
  Scroll scroll;
  EXPECT_THAT(scroll.frame(page, 10), StartsWith("HEAD\nline 0\n"));
  EXPECT_THAT(scroll.frame(page, 10), EndsWith("\nline 7\nq quits  lines 1 to 8 of 40"));
  scroll.move(Key::down, page, 10);
  EXPECT_THAT(scroll.frame(page, 10), StartsWith("HEAD\nline 1\n"));
  scroll.move(Key::page_down, page, 10);
  EXPECT_THAT(scroll.frame(page, 10), StartsWith("HEAD\nline 9\n"));
  scroll.move(Key::page_up, page, 10);
  scroll.move(Key::up, page, 10);
  scroll.move(Key::up, page, 10);
  EXPECT_THAT(scroll.frame(page, 10), StartsWith("HEAD\nline 0\n"));
  scroll.move(Key::end, page, 10);
  scroll.move(Key::down, page, 10);
  EXPECT_THAT(scroll.frame(page, 10), HasSubstr("line 39\nq quits  lines 33 to 40 of 40"));
  scroll.move(Key::home, page, 10);
  EXPECT_THAT(scroll.frame(page, 10), StartsWith("HEAD\nline 0\n"));
}

TEST(Scroll, a_page_that_becomes_shorter_is_shown_to_its_end) {
  ScreenPage page = long_page();
  Scroll scroll;
  scroll.move(Key::end, page, 10);
  page.body.resize(9);
  EXPECT_THAT(scroll.frame(page, 10), HasSubstr("line 8\nq quits  lines 2 to 9 of 9"));
  page.body.resize(3);
  EXPECT_EQ(scroll.frame(page, 7), "HEAD\nline 0\nline 1\nline 2\n\n\nq quits");
}

TEST(Scroll, a_screen_has_never_more_lines_than_the_terminal) {
  const ScreenPage page = long_page();
  for (std::size_t rows = 1; rows < 60; ++rows) {
    const std::string frame = Scroll().frame(page, rows);
    EXPECT_LT(static_cast<std::size_t>(std::ranges::count(frame, '\n')), rows);
  }
}

}  // namespace
}  // namespace autopilot::cli
