// SPDX-License-Identifier: Apache-2.0
#include "agent/gang_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class GangClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!net::testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    certificates_.make_node("localhost", "ca");
    const net::TlsServerIdentity identity{.certificate = certificates_.text("localhost.crt"),
                                          .key = certificates_.text("localhost.key"),
                                          .authorities = ""};
    port_ = server_.listen_tls("127.0.0.1:0", net::TlsContext::make(identity).value()).value();
    answer_ = {200, "application/json", api::to_json(api::GangAnswer{true, {}}), {}};
  }
  void is_there() {
    server_.route("POST", api::kGangsPath, [this](const net::HttpRequest& request, net::Responder responder) {
      seen_.push_back(request);
      if (is_silent_) return kept_.push_back(std::move(responder));
      responder.respond(answer_);
    });
  }
  void ask(const std::string& pod, bool is_proven = true) {
    if (!client_)
      client_ = std::make_unique<GangClient>(
          loop_, clock_, ControllerDoor{{true, "localhost", port_, ""}, "/ca.crt", "/token"},
          [authority = certificates_.text("ca.crt")](const std::string& path) -> Result<std::string> {
            return path == "/token" ? "a.b.c" : authority;
          });
    client_->ask({pod, 8, is_proven},
                 [this](const Result<api::GangAnswer>& answer) { told_.push_back(answer); });
  }
  const Result<api::GangAnswer>& told(std::size_t number) {
    EXPECT_TRUE(net::testing::run_until(loop_, [&] { return told_.size() > number; }));
    return told_.at(number);
  }

  net::testing::TestCertificates certificates_;
  host::SystemClock clock_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::uint16_t port_ = 0;
  net::HttpResponse answer_;
  bool is_silent_ = false;
  std::vector<net::HttpRequest> seen_;
  std::vector<net::Responder> kept_;
  std::vector<Result<api::GangAnswer>> told_;
  std::unique_ptr<GangClient> client_;
};

TEST_F(GangClientTest, asks_for_one_pod_after_the_other_with_its_token) {
  is_there();
  ask("u1");
  ask("u2");
  EXPECT_TRUE(told(1)->may_start);
  ASSERT_EQ(seen_.size(), 2U);
  EXPECT_EQ(api::parse_gang_question(seen_[0].body)->pod_uid, "u1");
  EXPECT_EQ(api::parse_gang_question(seen_[1].body)->pod_uid, "u2");
  EXPECT_EQ(api::parse_gang_question(seen_[1].body)->size, 8U);
  EXPECT_EQ(seen_[0].headers["authorization"], "Bearer a.b.c");
}

TEST_F(GangClientTest, a_controller_that_is_older_knows_no_such_question) {
  ask("u1");
  ASSERT_FALSE(told(0));
  EXPECT_EQ(told(0).error().code, Errc::unsupported);
}

TEST_F(GangClientTest, nor_one_that_does_not_know_all_of_its_members) {
  is_there();
  answer_ = net::error_response(400, "malformed", "proven: not known");
  ask("u1", false);
  ASSERT_FALSE(told(0));
  EXPECT_EQ(told(0).error().code, Errc::unsupported);
  ask("u1");
  EXPECT_EQ(told(1).error().code, Errc::unavailable);
}

TEST_F(GangClientTest, a_refusal_is_told_with_its_words) {
  is_there();
  answer_ = net::error_response(503, "unavailable", "this controller does not lead");
  ask("u1");
  ASSERT_FALSE(told(0));
  EXPECT_EQ(told(0).error().code, Errc::unavailable);
  EXPECT_THAT(told(0).error().what, HasSubstr("503: this controller does not lead"));
  answer_ = {200, "application/json", "{}", {}};
  ask("u1");
  EXPECT_EQ(told(1).error().code, Errc::malformed);
}

TEST_F(GangClientTest, has_room_for_so_many_questions) {
  is_there();
  is_silent_ = true;
  for (std::size_t i = 0; i < GangClient::kMostQueued; ++i)
    ask("u");
  ask("more");
  ASSERT_FALSE(told(0));
  EXPECT_EQ(told(0).error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::agent
