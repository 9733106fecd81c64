// SPDX-License-Identifier: Apache-2.0
#include "cli/output/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

NodeSnapshot sample() {
  NodeSnapshot snapshot;
  snapshot.node = "node-a";
  snapshot.health = Health::degraded;
  snapshot.verdict = Verdict::warn;
  snapshot.coverage = {1, 2, {"CAP_SYSLOG"}};
  Finding finding;
  finding.subject = {SubjectKind::gpu, "0000:3b:00.0", 3, "", ""};
  finding.health = Health::degraded;
  finding.message =
      "a row remap waits for a reset of this GPU, which happens when nothing runs on it any more";
  finding.action = Action::drain_then_reset_gpu;
  snapshot.results.push_back(
      {"gpu.row_remap", Health::degraded, {"nvml"}, Duration{0}, {}, true, {finding}, {}});
  snapshot.results.push_back({"host.clock", Health::healthy, {"adjtimex"}, Duration{0}, {}, true, {}, {}});
  return snapshot;
}

std::string one_line(const std::string& table) {
  std::string text;
  for (const auto word : split_words(table))
    text.append(word).append(" ");
  return text;
}

TEST(NodeTable, says_what_where_and_what_to_do) {
  const auto text = render_node(sample(), {});
  EXPECT_THAT(text, HasSubstr("node-a  degraded  verdict WARN"));
  EXPECT_THAT(text, HasSubstr("1 of 2 checks ran; missing permissions: CAP_SYSLOG"));
  EXPECT_THAT(text, HasSubstr("GPU 3 (0000:3b:00.0):"));
  EXPECT_THAT(one_line(text), HasSubstr("Action: drain the GPU, then reset it (drain_then_reset_gpu)"));
  EXPECT_THAT(text, Not(HasSubstr("SIMULATED")));
}

TEST(NodeTable, fits_80_columns_and_has_no_color_unless_asked) {
  const auto text = render_node(sample(), {});
  for (const auto line : split(text, '\n'))
    EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(render_node(sample(), {.color = true, .width = 80}), HasSubstr("\033[33m"));
}

TEST(NodeTable, says_when_it_clears_also_of_what_is_gone) {
  auto snapshot = sample();
  auto& finding = snapshot.results[0].findings[0];
  finding.clears_when = "when the GPU is reset or the machine reboots";
  EXPECT_THAT(one_line(render_node(snapshot, {})),
              HasSubstr("(clears when the GPU is reset or the machine reboots)"));
  finding.held = true;
  EXPECT_THAT(one_line(render_node(snapshot, {})),
              HasSubstr("[gone] (clears when the GPU is reset or the machine reboots)"));
}

TEST(NodeTable, says_since_when_and_when_it_was_last_seen) {
  using namespace std::chrono_literals;
  auto snapshot = sample();
  snapshot.time = WallTime{1'800'000'000s};
  auto& finding = snapshot.results[0].findings[0];
  finding.since = snapshot.time - 3h - 20s;
  finding.last_seen = snapshot.time - 20s;
  Incident& incident = snapshot.incidents.emplace_back();
  incident.id = "0123abcd-1";
  incident.summary = "a row remap waits";
  incident.opened = snapshot.time - 2h;
  finding.clears_when = "when the GPU was reset";
  incident.members = {{"gpu.row_remap", finding, false, {}}};
  finding.clears_when.clear();
  EXPECT_THAT(one_line(render_node(snapshot, {})), HasSubstr("(for 3h, last seen 20s ago)"));
  EXPECT_THAT(
      one_line(render_node(snapshot, {})),
      HasSubstr("a row remap waits [open] (for 2h, last seen 20s ago; clears when the GPU was reset)"));
  incident.members[0].cleared = snapshot.time - 1h;
  EXPECT_THAT(one_line(render_node(snapshot, {})),
              HasSubstr("a row remap waits [open] (for 2h, last seen 20s ago)"));
  finding.last_seen = snapshot.time - 2h - 5s;
  EXPECT_THAT(one_line(render_node(snapshot, {})), HasSubstr("(for 3h, last seen 2h ago)"));
  snapshot.incidents.clear();
  finding.since = snapshot.time - 10s;
  EXPECT_THAT(render_node(snapshot, {}), Not(HasSubstr("last seen")));
}

TEST(NodeTable, says_which_kernel_records_nobody_read) {
  auto snapshot = sample();
  EXPECT_THAT(render_node(snapshot, {}), Not(HasSubstr("KERNEL LOG")));
  snapshot.self.kernel_records_lost = 12;
  EXPECT_THAT(render_node(snapshot, {}),
              HasSubstr("\nKERNEL LOG  12 records were overwritten before they were read\n"));
  snapshot.self.kernel_records_missed = 3;
  EXPECT_THAT(one_line(render_node(snapshot, {})),
              HasSubstr("were read; 3 records exceeded the capacity of the checks"));
}

TEST(NodeTable, a_simulated_machine_says_so) {
  auto snapshot = sample();
  snapshot.simulated = true;
  EXPECT_THAT(render_node(snapshot, {}), HasSubstr("SIMULATED"));
}

TEST(NodeTable, escape_sequences_from_a_machine_never_reach_the_terminal) {
  auto snapshot = sample();
  snapshot.node = "evil\033[2J";
  snapshot.results[0].findings[0].message = "x\033]0;owned\a y";
  EXPECT_THAT(render_node(snapshot, {}), Not(HasSubstr("\033")));
}

TEST(Printable, control_characters_of_one_byte_and_of_two_are_replaced) {
  EXPECT_EQ(printable("a\033[2J\tb\x7f"), "a?[2J?b?");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "2Jb\xc2\x80"),
            "a?2Jb?");
  EXPECT_EQ(printable("25 \xc2\xb0"
                      "C, \xc3\xa9"),
            "25 \xc2\xb0"
            "C, \xc3\xa9");
  EXPECT_EQ(printable("a\x9b"
                      "2J\xc2"),
            "a\xef\xbf\xbd"
            "2J\xef\xbf\xbd");
}

TEST(Printable, leaves_nothing_that_turns_or_hides_text) {
  const std::string turned =
      "safe \xe2\x80\xae"
      "evil";
  EXPECT_EQ(printable(turned), "safe ?evil");
  for (const std::string hidden :
       {"\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xaa",
        "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf", "\xef\xbf\xb9", "\xf3\xa0\x80\xa1"})
    EXPECT_EQ(printable("a" + hidden + "b"), "a?b");
  const std::string plain = "\xce\xbb \xe2\x82\xac \xf0\x9f\x98\x80 \xd7\xa9";
  EXPECT_EQ(printable(plain), plain);
}

TEST(Wrapped, breaks_at_words_and_cuts_what_is_too_long) {
  EXPECT_THAT(wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  EXPECT_THAT(wrapped("", 10), ElementsAre());
}

}  // namespace
}  // namespace autopilot::cli
