// SPDX-License-Identifier: Apache-2.0
#include "fleet/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/http_server.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Agents that answer what they were asked for, when they are told to.
class SweepTest : public ::testing::Test {
 protected:
  SweepTest() {
    server_.route("GET", "/prompt/{node}", [](const net::HttpRequest& request, net::Responder responder) {
      responder.respond(net::HttpResponse{.body = request.parameters.at("node")});
    });
    server_.route("GET", "/late/{node}", [this](const net::HttpRequest&, net::Responder responder) {
      waiting_.push_back(std::move(responder));
      most_waiting_ = std::max(most_waiting_, waiting_.size());
    });
    port_ = server_.listen_tcp("127.0.0.1:0").value();
  }
  [[nodiscard]] Question question(const std::string& path) const {
    Question asked;
    asked.url = {false, "127.0.0.1", port_, ""};
    asked.request.method = "GET";
    asked.request.path = path;
    return asked;
  }
  void ask(std::vector<Question> questions, SweepLimits limits = {}) {
    sweep_.emplace(loop_, std::move(questions), limits,
                   Sweep::Listener{[this](std::size_t number, const Result<net::HttpResponse>& answer) {
                                     answers_[number] =
                                         answer ? answer->body : std::string(to_string(answer.error().code));
                                   },
                                   [this] {
                                     sweep_.reset();
                                     ++ends_;
                                   }});
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
  std::vector<net::Responder> waiting_;
  std::size_t most_waiting_ = 0;
  std::map<std::size_t, std::string> answers_;
  int ends_ = 0;
  std::optional<Sweep> sweep_;
};

TEST_F(SweepTest, everybody_is_asked_and_the_end_is_told_once) {
  ask({question("/prompt/a"), question("/prompt/b"), question("/none")}, {.at_once = 1});
  ASSERT_TRUE(run_until([this] { return ends_ > 0; }));
  EXPECT_THAT(answers_, ElementsAre(Pair(0, "a"), Pair(1, "b"), Pair(2, ::testing::HasSubstr("not_found"))));
  EXPECT_EQ(ends_, 1);
}

TEST_F(SweepTest, a_dead_and_a_slow_one_cost_nobody_else_anything) {
  Question dead = question("/prompt/x");
  // Nobody listens there.
  dead.url.port = 1;
  ask({question("/late/a"), dead, question("/prompt/b"), question("/prompt/c")},
      {.at_once = 2, .deadline = std::chrono::milliseconds{400}});
  ASSERT_TRUE(run_until([this] { return answers_.size() == 3; }));
  EXPECT_THAT(answers_, ElementsAre(Pair(1, "unavailable"), Pair(2, "b"), Pair(3, "c")));
  EXPECT_EQ(ends_, 0);
  ASSERT_TRUE(run_until([this] { return ends_ > 0; }));
  EXPECT_EQ(answers_[0], "timed_out");
}

TEST_F(SweepTest, no_more_are_asked_at_once_than_may_be) {
  std::vector<Question> questions;
  for (int i = 0; i < 10; ++i)
    questions.push_back(question("/late/" + std::to_string(i)));
  ask(std::move(questions), {.at_once = 3});
  ASSERT_TRUE(run_until([this] { return waiting_.size() == 3; }));
  // Without barriers: the next is asked as soon as one has answered.
  for (std::size_t answered = 1; answered <= 7; ++answered) {
    waiting_.front().respond(net::HttpResponse{.body = "late"});
    waiting_.erase(waiting_.begin());
    ASSERT_TRUE(run_until([this, answered] { return answers_.size() == answered && waiting_.size() == 3; }));
  }
  for (net::Responder& responder : waiting_)
    responder.respond(net::HttpResponse{.body = "late"});
  ASSERT_TRUE(run_until([this] { return ends_ > 0; }));
  EXPECT_EQ(most_waiting_, 3U);
  EXPECT_EQ(answers_.size(), 10U);
}

TEST_F(SweepTest, an_answer_that_is_too_long_is_none) {
  ask({question("/prompt/abcdefgh")}, {.answer_bytes = 4});
  ASSERT_TRUE(run_until([this] { return ends_ > 0; }));
  EXPECT_EQ(answers_[0], "exhausted");
}

TEST_F(SweepTest, one_that_is_given_up_calls_nobody) {
  ask({question("/late/a"), question("/prompt/b")}, {.at_once = 1});
  ASSERT_TRUE(run_until([this] { return waiting_.size() == 1; }));
  sweep_.reset();
  waiting_.clear();
  bool is_later = false;
  const auto later = loop_.after(std::chrono::milliseconds{50}, [&is_later] { is_later = true; });
  ASSERT_TRUE(run_until([&is_later] { return is_later; }));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(ends_, 0);
}

TEST_F(SweepTest, with_nobody_to_ask_it_ends) {
  ask({});
  ASSERT_TRUE(run_until([this] { return ends_ > 0; }));
}

}  // namespace
}  // namespace autopilot::fleet
