// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/fan_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

namespace ibm = compat::ibm_autopilot;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// This node "here", one agent "there" that answers when it is told to, and one "dead".
class FanOutTest : public ::testing::Test {
 protected:
  FanOutTest() {
    server_.route("GET", "/status", [this](const net::HttpRequest& request, net::Responder responder) {
      questions_.push_back(request.query.at("host") + " " + request.query.at("check"));
      waiting_.push_back(std::move(responder));
    });
    const std::uint16_t port = server_.listen_tcp("127.0.0.1:0").value();
    peers_ = std::vector<fleet::Peer>{
        {"there", "127.0.0.1", port}, {"here", "127.0.0.1", 1}, {"dead", "127.0.0.1", 1}};
    begin();
  }
  void begin(Duration patience = net::testing::kPatience) {
    fan_out_.emplace(FanOutContext{loop_,
                                   clock_,
                                   "here",
                                   [](const ibm::StatusRequest&, const TestRights&, ReplyForm form,
                                      const std::function<void(std::string)>& done) {
                                     done(form == ReplyForm::json ? R"({"checks":[]})" : "mine");
                                   },
                                   [this](const auto& done) {
                                     ++lists_;
                                     done(peers_);
                                   },
                                   {},
                                   patience,
                                   patience,
                                   patience});
  }
  void ask(const std::string& hosts, std::vector<std::string>& seen, ReplyForm form = ReplyForm::text) {
    ibm::StatusRequest request;
    request.host = hosts;
    request.checks = "remapped";
    fan_out_->ask(request, {}, form,
                  {[&seen](const NodeReply& reply) { seen.push_back(text_of(reply)); },
                   [this](const auto& replies, Duration) {
                     ++ends_;
                     if (!replies) failure_ = replies.error().what;
                     if (replies) replies_ = *replies;
                   }});
  }
  // Who has room for so many replies.
  void ask_slowly(const std::string& hosts, std::vector<std::string>& seen, std::size_t& room) {
    ibm::StatusRequest request;
    request.host = hosts;
    request.checks = "remapped";
    fan_out_->ask(
        request, {}, ReplyForm::text,
        {[&](const NodeReply& reply) {
           seen.push_back(reply.peer.node);
           --room;
         },
         [&](const auto& replies, Duration) { seen.push_back("all " + std::to_string(replies->size())); },
         [&] { return room > 0; }});
  }
  [[nodiscard]] static std::string text_of(const NodeReply& reply) {
    return reply.peer.node + ": " + (reply.body ? *reply.body : reply.body.error().what);
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  void answer_there(const std::string& text) {
    for (net::Responder& responder : waiting_)
      responder.respond(net::HttpResponse{.body = text});
    waiting_.clear();
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  net::HttpServer server_{loop_, {}};
  std::vector<std::string> questions_;
  std::vector<net::Responder> waiting_;
  Result<std::vector<fleet::Peer>> peers_;
  int lists_ = 0;
  std::vector<NodeReply> replies_;
  std::string failure_;
  int ends_ = 0;
  std::optional<FanOut> fan_out_;
};

TEST_F(FanOutTest, every_node_is_in_the_answer_in_its_place) {
  std::vector<std::string> seen;
  ask("there,nowhere,dead,here", seen);
  ASSERT_TRUE(run_until([&] { return seen.size() == 3 && !waiting_.empty(); }));
  EXPECT_EQ(ends_, 0);
  answer_there("yours");
  ASSERT_TRUE(run_until([this] { return ends_ == 1; }));
  EXPECT_THAT(questions_, ElementsAre("there remapped"));
  ASSERT_EQ(replies_.size(), 4U);
  EXPECT_EQ(text_of(replies_[0]), "there: yours");
  EXPECT_EQ(text_of(replies_[1]), "nowhere: no agent is known on a node of this name");
  EXPECT_THAT(text_of(replies_[2]), HasSubstr("dead: http://127.0.0.1:1: "));
  EXPECT_EQ(text_of(replies_[3]), "here: mine");
  EXPECT_EQ(replies_[3].url, "http://127.0.0.1:1/status?host=here&check=remapped");
}

TEST_F(FanOutTest, an_agent_without_tls_is_not_asked_in_the_clear_and_the_answer_says_so) {
  for (fleet::Peer& peer : *peers_)
    peer.lacks_tls = peer.is_encrypted = peer.node == "there";
  std::vector<std::string> seen;
  ask("there", seen);
  ASSERT_TRUE(run_until([this] { return ends_ == 1; }));
  EXPECT_THAT(questions_, IsEmpty());
  EXPECT_THAT(text_of(replies_[0]), StartsWith("there: no TLS yet at there: its agent is from before"));
}

TEST_F(FanOutTest, equal_questions_are_one) {
  std::vector<std::string> first;
  std::vector<std::string> second;
  ask("all", first);
  ASSERT_TRUE(run_until([&] { return first.size() == 2 && !waiting_.empty(); }));
  ask("all", second);
  EXPECT_EQ(second, first);
  answer_there("yours");
  ASSERT_TRUE(run_until([this] { return ends_ == 2; }));
  EXPECT_EQ(questions_.size(), 1U);
  EXPECT_EQ(lists_, 1);
  EXPECT_EQ(second, first);
  EXPECT_EQ(first.size(), 3U);
}

TEST_F(FanOutTest, who_has_no_room_is_told_later_and_holds_up_nobody) {
  std::size_t room = 1;
  std::vector<std::string> slow;
  ask_slowly("nowhere,there,here", slow, room);
  std::vector<std::string> seen;
  ask("nowhere,there,here", seen);
  ASSERT_TRUE(run_until([&] { return seen.size() == 2 && !waiting_.empty(); }));
  answer_there("yours");
  ASSERT_TRUE(run_until([this] { return ends_ == 1; }));
  EXPECT_EQ(questions_.size(), 1U);
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_THAT(slow, ElementsAre("nowhere"));
  room = 5;
  ASSERT_TRUE(run_until([&] { return slow.size() == 4; }));
  EXPECT_THAT(slow, ElementsAre("nowhere", "here", "there", "all 3"));
}

TEST_F(FanOutTest, answers_that_wait_for_room_are_so_many_and_may_be_left) {
  std::size_t room = 0;
  std::vector<std::string> slow;
  for (std::size_t i = 0; i < FanOut::kMostRounds; ++i)
    ask_slowly(std::string(i, ' ') + "here", slow, room);
  std::vector<std::string> seen;
  ask("here", seen);
  EXPECT_EQ(failure_, "Too many questions at once; ask again");
  fan_out_.reset();
  room = 100;
  bool is_later = false;
  const auto later = loop_.after(std::chrono::milliseconds{50}, [&is_later] { is_later = true; });
  ASSERT_TRUE(run_until([&is_later] { return is_later; }));
  EXPECT_THAT(slow, IsEmpty());
}

TEST_F(FanOutTest, questions_that_differ_are_asked_each) {
  std::vector<std::string> seen;
  ask("there", seen);
  ask("there", seen, ReplyForm::json);
  ASSERT_TRUE(run_until([this] { return waiting_.size() == 2; }));
  answer_there("{}");
  ASSERT_TRUE(run_until([this] { return ends_ == 2; }));
}

TEST_F(FanOutTest, a_question_after_the_end_is_a_new_one) {
  std::vector<std::string> seen;
  ask("here", seen);
  ASSERT_TRUE(run_until([this] { return ends_ == 1; }));
  ask("here", seen);
  ASSERT_TRUE(run_until([this] { return ends_ == 2; }));
  EXPECT_EQ(lists_, 2);
}

TEST_F(FanOutTest, who_is_there_may_not_be_known) {
  peers_ = fail(Errc::denied, "not allowed to list endpointslices");
  std::vector<std::string> seen;
  ask("all", seen);
  ASSERT_TRUE(run_until([this] { return ends_ == 1; }));
  EXPECT_EQ(failure_, "not allowed to list endpointslices");
}

TEST_F(FanOutTest, so_many_questions_are_under_way_and_no_more) {
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < FanOut::kMostRounds; ++i)
    ask(std::string(i, ' ') + "there", seen);
  ask("here", seen);
  EXPECT_EQ(failure_, "Too many questions at once; ask again");
  ASSERT_TRUE(run_until([this] { return waiting_.size() == FanOut::kMostRounds; }));
  answer_there("yours");
  ASSERT_TRUE(run_until([this] { return ends_ == static_cast<int>(FanOut::kMostRounds) + 1; }));
  ask("here", seen);
  ASSERT_TRUE(run_until([this] { return ends_ == static_cast<int>(FanOut::kMostRounds) + 2; }));
}

TEST_F(FanOutTest, who_does_not_answer_in_time_is_in_the_answer) {
  begin(std::chrono::milliseconds{300});
  std::vector<std::string> seen;
  ask("there,here", seen);
  ASSERT_TRUE(run_until([this] { return ends_ == 1; }));
  ASSERT_EQ(replies_.size(), 2U);
  EXPECT_EQ(text_of(replies_[0]), "there: no answer in time");
  EXPECT_EQ(text_of(replies_[1]), "here: mine");
  answer_there("yours");
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(FanOutTest, what_is_under_way_may_be_left) {
  std::vector<std::string> seen;
  ask("there,here", seen);
  ASSERT_TRUE(run_until([this] { return !waiting_.empty(); }));
  fan_out_.reset();
  answer_there("yours");
  bool is_later = false;
  const auto later = loop_.after(std::chrono::milliseconds{50}, [&is_later] { is_later = true; });
  ASSERT_TRUE(run_until([&is_later] { return is_later; }));
  EXPECT_EQ(ends_, 0);
}

TEST_F(FanOutTest, json_has_what_each_said_and_why_one_said_nothing) {
  std::vector<std::string> seen;
  ask("here,nowhere,there", seen, ReplyForm::json);
  ASSERT_TRUE(run_until([this] { return !waiting_.empty(); }));
  answer_there("no JSON");
  ASSERT_TRUE(run_until([this] { return ends_ == 1; }));
  const std::string json = to_json(replies_, std::chrono::seconds{2});
  EXPECT_THAT(json, HasSubstr(R"({"checks":[],"node":"here","address":"127.0.0.1",)"));
  EXPECT_THAT(json, HasSubstr(R"("error":"no agent is known on a node of this name","node":"nowhere")"));
  EXPECT_THAT(json,
              HasSubstr(R"("error":"its answer is not of the form that was asked for","node":"there")"));
  EXPECT_THAT(json, HasSubstr(R"("runtimeSeconds":2)"));
  EXPECT_THAT(to_json({}, std::chrono::seconds{2}), Not(HasSubstr("checks")));
  EXPECT_THAT(to_json({}, std::chrono::seconds{2}, R"({"name":"iperf"})"),
              HasSubstr(R"("checks":[{"name":"iperf"}])"));
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
