// SPDX-License-Identifier: Apache-2.0
#include "kube/session.hpp"

#include <chrono>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "net/http_server.hpp"
#include "tests/support/kube/scripted_api.hpp"
#include "tests/support/kube/test_files.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    server_.route("GET", "/api/v1/nodes", [this](const net::HttpRequest& request, net::Responder responder) {
      const auto shown = request.headers.find("authorization");
      shown_.push_back(shown == request.headers.end() ? "" : shown->second);
      agent_ = request.headers.at("user-agent");
      const bool is_known = shown_.back() == "Bearer " + accepted_;
      responder.respond(is_known ? net::HttpResponse{.body = "{}"}
                                 : net::error_response(401, "unauthorized", "who are you?"));
    });
    files_.texts["/token"] = "first";
    door_.access.server = {false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""};
    door_.access.token_file = "/token";
    door_.read_file = files_.reader();
  }
  void start() {
    session_ =
        std::make_unique<Session>(loop_, clock_, door_, "autopilot-test",
                                  [this](std::function<void()> task) { tasks_.push_back(std::move(task)); });
    session_->start([this] { is_ready_ = true; });
  }
  // On its own thread, as it were.
  void work() {
    for (const auto& task : std::exchange(tasks_, {}))
      task();
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, [&] {
      work();
      return is_so();
    });
  }
  // The status of HTTP; 0: none.
  int ask() {
    std::optional<int> status;
    const auto exchange = session_->client().get(
        {"/api/v1/nodes", {}},
        [&status](const ApiResult<std::string>& answer) { status = answer ? 200 : answer.error().status; });
    EXPECT_TRUE(run_until([&] { return status.has_value(); }));
    return status.value_or(0);
  }

  testing::SetClock clock_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {}};
  std::string accepted_ = "first";
  std::vector<std::string> shown_;
  std::string agent_;
  TestFiles files_;
  ClusterDoor door_;
  std::vector<std::function<void()>> tasks_;
  bool is_ready_ = false;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, is_ready_when_the_credentials_were_read_beside_the_loop) {
  start();
  EXPECT_EQ(files_.reads, 0);
  EXPECT_FALSE(is_ready_);
  ASSERT_TRUE(run_until([this] { return is_ready_; }));
  EXPECT_EQ(ask(), 200);
  EXPECT_THAT(shown_, ElementsAre("Bearer first"));
  EXPECT_THAT(agent_, ::testing::StartsWith("autopilot-test/"));
  EXPECT_THAT(session_->problem(), IsEmpty());
}

TEST_F(SessionTest, a_token_that_the_server_rejects_is_read_again) {
  start();
  ASSERT_TRUE(run_until([this] { return is_ready_; }));
  accepted_ = files_.texts["/token"] = "second";
  EXPECT_EQ(ask(), 401);
  clock_.time += Credentials::kPause;
  EXPECT_TRUE(net::testing::eventually([this] { return ask() == 200; }));
}

TEST_F(SessionTest, credentials_that_cannot_be_read_are_a_problem_and_no_reason_to_wait) {
  files_.broken["/token"] = Errc::denied;
  start();
  ASSERT_TRUE(run_until([this] { return is_ready_; }));
  EXPECT_THAT(session_->problem(), HasSubstr("/token"));
  EXPECT_EQ(ask(), 401);
  files_.broken.clear();
  clock_.time += Credentials::kPause;
  ASSERT_TRUE(run_until([this] { return session_->problem().empty(); }));
  EXPECT_EQ(ask(), 200);
}

}  // namespace
}  // namespace autopilot::kube
