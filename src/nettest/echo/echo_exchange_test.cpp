// SPDX-License-Identifier: Apache-2.0

#include "nettest/echo/echo_exchange.hpp"

#include <gtest/gtest.h>

namespace autopilot::nettest {

namespace {

using namespace std::chrono_literals;

const MonoTime kBegin{100s};

EchoTally tally_of(std::uint16_t questions) {
  EchoTally tally;
  for (std::uint16_t n = 0; n < questions; ++n)
    EXPECT_EQ(tally.note_sent(kBegin + n * 20ms), n);
  return tally;
}

TEST(EchoTally, without_an_answer_nothing_is_known_but_that) {
  const auto tally = tally_of(5);
  EXPECT_FALSE(tally.is_all_answered());
  EXPECT_EQ(tally.figures(), (EchoFigures{.sent = 5}));
  EXPECT_EQ(EchoTally().figures(), EchoFigures{});
  EXPECT_TRUE(EchoTally().is_all_answered());
}

TEST(EchoTally, times_are_from_each_question_to_its_answer) {
  auto tally = tally_of(4);
  tally.note_answer(0, kBegin + 1ms);
  tally.note_answer(1, kBegin + 20ms + 3ms);
  tally.note_answer(2, kBegin + 40ms + 2ms);
  EXPECT_TRUE(tally.is_answered(2));
  EXPECT_FALSE(tally.is_answered(3));
  const auto figures = tally.figures();
  EXPECT_EQ(figures.sent, 4U);
  EXPECT_EQ(figures.answered, 3U);
  EXPECT_EQ(figures.shortest, 1ms);
  EXPECT_EQ(figures.median, 2ms);
  EXPECT_EQ(figures.p99, 3ms);
  EXPECT_EQ(figures.longest, 3ms);
}

TEST(EchoTally, quantiles_are_values_that_were_measured) {
  auto tally = tally_of(200);
  for (std::uint16_t n = 0; n < 200; ++n)
    tally.note_answer(n, kBegin + n * 20ms + (n + 1) * 1us);
  const auto figures = tally.figures();
  EXPECT_EQ(figures.median, 100us);
  EXPECT_EQ(figures.p99, 198us);
  EXPECT_EQ(figures.longest, 200us);
}

TEST(EchoTally, a_second_answer_is_a_duplicate_and_changes_no_time) {
  auto tally = tally_of(2);
  tally.note_answer(0, kBegin + 1ms);
  tally.note_answer(0, kBegin + 500ms);
  tally.note_answer(1, kBegin + 21ms);
  const auto figures = tally.figures();
  EXPECT_EQ(figures.answered, 2U);
  EXPECT_EQ(figures.duplicates, 1U);
  EXPECT_EQ(figures.out_of_order, 0U);
  EXPECT_EQ(figures.longest, 1ms);
}

TEST(EchoTally, an_answer_behind_that_of_a_later_question_is_out_of_order) {
  auto tally = tally_of(4);
  tally.note_answer(1, kBegin + 50ms);
  tally.note_answer(0, kBegin + 51ms);
  tally.note_answer(3, kBegin + 70ms);
  tally.note_answer(2, kBegin + 71ms);
  EXPECT_EQ(tally.figures().out_of_order, 2U);
}

TEST(EchoTally, an_answer_to_what_was_never_asked_is_none) {
  auto tally = tally_of(1);
  tally.note_answer(1, kBegin);
  tally.note_answer(65535, kBegin);
  EXPECT_EQ(tally.figures().answered, 0U);
}

TEST(EchoTally, a_question_that_was_not_sent_after_all_is_forgotten) {
  auto tally = tally_of(2);
  tally.note_answer(0, kBegin + 1ms);
  tally.forget_last();
  EXPECT_TRUE(tally.is_all_answered());
  tally.forget_last();  // the other one has its answer
  EXPECT_EQ(tally.figures().sent, 1U);
}

// A clock that reads coarsely may give an answer the time of its question, or one before.
TEST(EchoTally, no_answer_comes_before_its_question) {
  auto tally = tally_of(1);
  tally.note_answer(0, kBegin - 1ms);
  EXPECT_TRUE(tally.is_answered(0));
  EXPECT_EQ(tally.figures().longest, 0ms);
}

}  // namespace

}  // namespace autopilot::nettest
