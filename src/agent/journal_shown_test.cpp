// SPDX-License-Identifier: Apache-2.0
#include "agent/journal_shown.hpp"

#include <gtest/gtest.h>

namespace autopilot::agent {
namespace {

using namespace std::chrono_literals;

SelfStatus shown(Duration lag, std::string problem = "", std::uint64_t dropped = 0) {
  store::WriterStatus status;
  status.lag = lag;
  status.problem = std::move(problem);
  status.dropped = dropped;
  SelfStatus self;
  show_journal(status, self);
  return self;
}

TEST(JournalShown, a_commit_under_way_is_no_lag_that_stays) {
  EXPECT_EQ(shown(20ms).journal_lag_seconds, 0);
  EXPECT_TRUE(shown(20ms).journal_durable);
  EXPECT_FALSE(is_journal_news(shown(20ms), shown(0s)));
}

TEST(JournalShown, a_disk_that_does_not_answer_is_shown_with_its_time) {
  EXPECT_EQ(shown(3s).journal_lag_seconds, 3);
  EXPECT_FALSE(shown(3s).journal_durable);
  EXPECT_TRUE(is_journal_news(shown(3s), shown(4s)));
  EXPECT_TRUE(is_journal_news(shown(4s), shown(0s)));
}

TEST(JournalShown, a_problem_and_what_was_dropped_are_news) {
  EXPECT_FALSE(shown(0s, "disk full").journal_durable);
  EXPECT_TRUE(is_journal_news(shown(0s), shown(0s, "disk full")));
  EXPECT_TRUE(is_journal_news(shown(0s), shown(0s, "", 1)));
  EXPECT_FALSE(is_journal_news(shown(0s, "disk full", 1), shown(0s, "disk full", 1)));
}

}  // namespace
}  // namespace autopilot::agent
