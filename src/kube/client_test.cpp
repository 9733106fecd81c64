// SPDX-License-Identifier: Apache-2.0

#include "kube/client.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "kube/pacing.hpp"
#include "tests/support/net/test_server.hpp"

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

using net::testing::answer;
using net::testing::pieces;
using net::testing::Scripted;
using net::testing::ScriptedServer;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ClientTest : public ::testing::Test {
 protected:
  using Ask = std::function<net::Exchange(Client&, OnObject)>;

  ApiResult<std::string> ask(const Scripted& said, const Ask& how, const std::string& token = "") {
    const ScriptedServer server({said});
    Client client(loop_, {false, "127.0.0.1", server.port(), ""},
                  {.user_agent = "autopilot/1", .field_manager = "autopilot-agent", .deadline = 2s});
    client.use_token(token);
    std::optional<ApiResult<std::string>> outcome;
    const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
    const net::Exchange exchange = how(client, [&](ApiResult<std::string> one) {
      outcome = std::move(one);
      loop_.stop();
    });
    loop_.run();
    counts_ = client.counts();
    const auto requests = server.requests();
    request_ = requests.empty() ? "" : requests.front();
    return outcome.value();
  }
  ApiResult<std::string> get(const Scripted& said, const std::string& token = "") {
    return ask(
        said,
        [](Client& client, OnObject on) {
          return client.get({"/api/v1/nodes/a", {}}, std::move(on));
        },
        token);
  }

  net::EventLoop loop_;
  std::string request_;
  ApiCounts counts_{};
};

TEST_F(ClientTest, counts_how_requests_ended) {
  const auto one = [](ApiOutcome outcome) {
    ApiCounts counts{};
    counts[static_cast<std::size_t>(outcome)] = 1;
    return counts;
  };
  EXPECT_TRUE(get({answer(200, "{}")}));
  EXPECT_EQ(counts_, one(ApiOutcome::ok));
  EXPECT_FALSE(get({answer(403, "{}")}));
  EXPECT_EQ(counts_, one(ApiOutcome::forbidden));
  EXPECT_FALSE(get({""}));
  EXPECT_EQ(counts_, one(ApiOutcome::unreachable));
}

TEST_F(ClientTest, says_who_asks_and_gives_the_object) {
  const auto object = get({answer(200, R"({"kind":"Node"})")}, "secret");
  ASSERT_TRUE(object) << object.error().error.what;
  EXPECT_EQ(*object, R"({"kind":"Node"})");
  EXPECT_THAT(request_, StartsWith("GET /api/v1/nodes/a HTTP/1.1\r\n"));
  EXPECT_THAT(request_, HasSubstr("Authorization: Bearer secret\r\n"));
  EXPECT_THAT(request_, HasSubstr("User-Agent: autopilot/1\r\n"));
  EXPECT_THAT(request_, HasSubstr("Accept: application/json\r\n"));
  EXPECT_TRUE(get({answer(200, "{}")}));
  EXPECT_THAT(request_, Not(HasSubstr("Authorization")));
}

TEST_F(ClientTest, names_the_manager_of_what_it_writes) {
  const auto on_pod = [](Patch kind, bool force) {
    return [kind, force](Client& client, OnObject on) {
      return client.patch({"/api/v1/nodes/a", {}}, kind, "{}", std::move(on), force);
    };
  };
  EXPECT_TRUE(ask({answer(200, "{}")}, on_pod(Patch::merge, false)));
  EXPECT_THAT(request_, StartsWith("PATCH /api/v1/nodes/a?fieldManager=autopilot-agent HTTP"));
  EXPECT_THAT(request_, HasSubstr("Content-Type: application/merge-patch+json\r\n"));
  EXPECT_THAT(request_, EndsWith("\r\n\r\n{}"));
  EXPECT_TRUE(ask({answer(200, "{}")}, on_pod(Patch::apply, true)));
  EXPECT_THAT(request_, HasSubstr("fieldManager=autopilot-agent&force=true"));
  EXPECT_THAT(request_, HasSubstr("Content-Type: application/apply-patch+yaml\r\n"));
  EXPECT_TRUE(ask({answer(201, "{}")}, [](Client& client, OnObject on) {
    return client.create({"/apis/batch/v1/namespaces/a/jobs", {}}, R"({"kind":"Job"})", std::move(on));
  }));
  EXPECT_THAT(request_,
              StartsWith("POST /apis/batch/v1/namespaces/a/jobs?fieldManager=autopilot-agent HTTP"));
  EXPECT_TRUE(ask({answer(200, "{}")}, [](Client& client, OnObject on) {
    return client.remove({"/api/v1/namespaces/a/pods/b", {}}, R"({"gracePeriodSeconds":0})", std::move(on));
  }));
  EXPECT_THAT(request_, StartsWith("DELETE /api/v1/namespaces/a/pods/b"));
}

TEST_F(ClientTest, tells_what_the_server_refused_in_its_own_words) {
  struct Refusal {
    int status;
    Errc code;
  };
  for (const auto& [status, code] :
       {Refusal{400, Errc::malformed}, Refusal{401, Errc::denied}, Refusal{403, Errc::denied},
        Refusal{404, Errc::not_found}, Refusal{409, Errc::conflict}, Refusal{410, Errc::not_found},
        Refusal{422, Errc::malformed}, Refusal{429, Errc::exhausted}, Refusal{500, Errc::unavailable},
        Refusal{503, Errc::unavailable}, Refusal{504, Errc::unavailable}, Refusal{302, Errc::malformed}}) {
    const auto object =
        get({answer(status, R"({"kind":"Status","reason":"Because","message":"it will not do"})")});
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().status, status);
    EXPECT_EQ(object.error().error.code, code) << status;
    EXPECT_EQ(object.error().reason, "Because");
    EXPECT_THAT(object.error().error.what,
                EndsWith("GET /api/v1/nodes/a: " + std::to_string(status) + ": it will not do"));
  }
}

TEST_F(ClientTest, reads_when_to_come_again) {
  EXPECT_EQ(get({answer(429, "slow down", "Retry-After: 7\r\n")}).error().verdict.retry_after, Duration(7s));
  EXPECT_EQ(get({answer(429, "", "Retry-After: 999999\r\n")}).error().verdict.retry_after, Duration(10min));
  EXPECT_EQ(get({answer(429, "", "Retry-After: soon\r\n")}).error().verdict.retry_after, std::nullopt);
  EXPECT_EQ(get({answer(503, "")}).error().verdict.retry_after, std::nullopt);
}

TEST_F(ClientTest, shows_a_refusal_that_is_no_status_object) {
  const auto object = get({answer(502, "<html>\x1b[31mbad gateway</html>")});
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().error.what, HasSubstr("502: <html>?[31mbad gateway"));
}

TEST_F(ClientTest, says_that_nobody_answered) {
  const auto object = get({""});
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().status, 0);
  EXPECT_EQ(object.error().error.code, Errc::unavailable);
  EXPECT_EQ(get({"HTTP/1.1 200", true}).error().error.code, Errc::timed_out);
}

class ClientWatchTest : public ::testing::Test {
 protected:
  std::optional<ApiError> watch(const std::string& said) {
    const ScriptedServer server({{said}});
    Client client(loop_, {false, "127.0.0.1", server.port(), ""}, {.deadline = 2s, .line_bytes = 100});
    std::optional<ApiError> end;
    const auto patience = loop_.after(net::testing::kPatience, [this] { loop_.stop(); });
    const net::Exchange exchange = client.watch({"/api/v1/pods", {}}, 20s,
                                                {[this](std::string_view line) { lines_.emplace_back(line); },
                                                 [&](std::optional<ApiError> why) {
                                                   end = std::move(why);
                                                   loop_.stop();
                                                 }});
    loop_.run();
    return end;
  }
  net::EventLoop loop_;
  std::vector<std::string> lines_;
};

TEST_F(ClientWatchTest, gives_line_after_line) {
  EXPECT_FALSE(watch(pieces({"one", "", "two"}, true)));
  EXPECT_EQ(lines_, (std::vector<std::string>{"one", "two"}));
}

TEST_F(ClientWatchTest, puts_lines_together_again) {
  EXPECT_FALSE(watch(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\non\r\n4\r\ne\ntw\r\n2\r\no\n\r\n0\r\n\r\n"));
  EXPECT_EQ(lines_, (std::vector<std::string>{"one", "two"}));
}

TEST_F(ClientWatchTest, refuses_a_line_without_an_end) {
  const auto end = watch(pieces({"one", std::string(101, 'x')}, true));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->error.code, Errc::exhausted);
  EXPECT_EQ(lines_, (std::vector<std::string>{"one"}));
}

TEST_F(ClientWatchTest, tells_why_it_may_not_watch) {
  const auto end = watch(answer(403, R"({"message":"pods is forbidden"})"));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, 403);
  EXPECT_THAT(end->error.what, HasSubstr("WATCH /api/v1/pods: 403: pods is forbidden"));
  EXPECT_TRUE(lines_.empty());
}

TEST_F(ClientWatchTest, tells_that_it_was_cut) {
  const auto end = watch(pieces({"one"}, false));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->error.code, Errc::unavailable);
  EXPECT_EQ(end->status, 0);
}

}  // namespace

}  // namespace autopilot::kube
