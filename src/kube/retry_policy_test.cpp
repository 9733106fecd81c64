// SPDX-License-Identifier: Apache-2.0
#include "kube/retry_policy.hpp"

#include <gtest/gtest.h>
#include <string>

#include "kube/back_off.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;

TEST(RetryPolicy, an_answer_of_success_is_the_end) {
  for (const int status : {200, 201, 202, 204})
    EXPECT_EQ(judge_status(status, ""), ApiVerdict{}) << status;
}

TEST(RetryPolicy, every_refusal_says_what_to_do_next) {
  struct Row {
    int status;
    ApiOutcome outcome;
    ApiNext next;
  };
  for (const Row& row :
       {Row{400, ApiOutcome::invalid, ApiNext::give_up}, Row{403, ApiOutcome::forbidden, ApiNext::give_up},
        Row{404, ApiOutcome::not_found, ApiNext::give_up}, Row{405, ApiOutcome::unexpected, ApiNext::give_up},
        Row{409, ApiOutcome::conflict, ApiNext::look_again},
        Row{410, ApiOutcome::expired, ApiNext::list_again}, Row{413, ApiOutcome::too_large, ApiNext::give_up},
        Row{422, ApiOutcome::invalid, ApiNext::give_up}, Row{429, ApiOutcome::busy, ApiNext::back_off},
        Row{408, ApiOutcome::server_error, ApiNext::back_off},
        Row{500, ApiOutcome::server_error, ApiNext::back_off},
        Row{503, ApiOutcome::server_error, ApiNext::back_off},
        Row{599, ApiOutcome::server_error, ApiNext::back_off},
        Row{302, ApiOutcome::unexpected, ApiNext::give_up}, Row{0, ApiOutcome::unexpected, ApiNext::give_up},
        Row{999, ApiOutcome::unexpected, ApiNext::give_up}}) {
    const ApiVerdict verdict = judge_status(row.status, "");
    EXPECT_EQ(verdict.outcome, row.outcome) << row.status;
    EXPECT_EQ(verdict.next, row.next) << row.status;
    EXPECT_EQ(verdict.retry_after, std::nullopt) << row.status;
  }
}

TEST(RetryPolicy, whoever_is_not_known_reads_the_credentials_anew) {
  EXPECT_EQ(judge_status(401, "").next, ApiNext::refresh_credentials);
  EXPECT_EQ(judge_error(Errc::denied).next, ApiNext::refresh_credentials);
}

TEST(RetryPolicy, a_server_that_is_busy_says_for_how_long) {
  EXPECT_EQ(judge_status(429, "7").retry_after, 7s);
  EXPECT_EQ(judge_status(503, " 2 ").retry_after, 2s);
  EXPECT_EQ(judge_status(404, "7").retry_after, std::nullopt);
}

TEST(RetryPolicy, a_silent_server_is_asked_again_and_a_huge_answer_is_not) {
  for (const Errc code : {Errc::unavailable, Errc::timed_out, Errc::malformed})
    EXPECT_EQ(judge_error(code), (ApiVerdict{ApiOutcome::unreachable, ApiNext::back_off, {}}));
  EXPECT_EQ(judge_error(Errc::exhausted).next, ApiNext::give_up);
  EXPECT_EQ(judge_error(Errc::unsupported).next, ApiNext::give_up);
}

TEST(RetryPolicy, a_retry_after_that_is_no_number_of_seconds_says_nothing) {
  for (const std::string text :
       {"", " ", "-1", "+5", "1.5", "0x10", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "5 6"})
    EXPECT_EQ(parse_retry_after(text), std::nullopt) << text;
  EXPECT_EQ(parse_retry_after(std::string("5\0", 2)), std::nullopt);
  EXPECT_EQ(parse_retry_after("0"), 0s);
}

TEST(RetryPolicy, a_retry_after_of_years_is_cut) {
  EXPECT_EQ(parse_retry_after("31536000"), kLongestRetryAfter);
  EXPECT_EQ(parse_retry_after(std::string(400, '9')), kLongestRetryAfter);
}

TEST(RetryPolicy, every_outcome_has_a_word_of_its_own) {
  EXPECT_EQ(to_string(ApiOutcome::ok), "ok");
  EXPECT_EQ(to_string(ApiOutcome::too_large), "too_large");
  EXPECT_EQ(to_string(ApiOutcome::unexpected), "unexpected");
}

}  // namespace
}  // namespace autopilot::kube
