// SPDX-License-Identifier: Apache-2.0
#include "controller/gangs/gang_service.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/reviews.hpp"
#include "kube/scripted_api.hpp"
#include "net/http_session.hpp"
#include "net/test_server.hpp"

namespace autopilot::controller {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kAgent = "system:serviceaccount:autopilot:autopilot";

class GangServiceTest : public ::testing::Test {
 protected:
  GangServiceTest() {
    api_.route("POST", kube::kTokenReviews,
               [this](const net::HttpRequest& request, net::Responder responder) {
                 reviews_.push_back(request.body);
                 if (status_ != 201)
                   return responder.respond(net::error_response(status_, "denied", "you may not ask"));
                 responder.respond({201, "application/json", review_, {}});
               });
    client_ = std::make_unique<kube::Client>(
        loop_, net::ServerUrl{false, "127.0.0.1", api_.listen_tcp("127.0.0.1:0").value(), ""},
        kube::ClientOptions{.user_agent = "test", .field_manager = "test", .deadline = 5s});
    service_ = std::make_unique<GangService>(*client_, clock_, "autopilot",
                                             [this] { return leads_ ? &world_ : nullptr; });
    service_->add_routes(server_);
    session_ = std::make_unique<net::HttpSession>(
        loop_, net::ServerUrl{false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""}, nullptr);
    world_.is_complete = true;
    is_user(kAgent, "n1");
    add_pod("train-0", "n1");
  }
  void is_user(const std::string& name, const std::string& node) {
    review_ = json::serialize(json::object{
        {"kind", "TokenReview"},
        {"status",
         {{"authenticated", true},
          {"audiences", {"autopilot.ibm.com"}},
          {"user",
           {{"username", name},
            {"extra", {{"authentication.kubernetes.io/node-name", json::array{json::string(node)}}}}}}}}});
  }
  void add_pod(const std::string& name, const std::string& node) {
    Pod pod;
    pod.name_space = "team";
    pod.name = name;
    pod.uid = "uid-" + name;
    pod.node = node;
    pod.owner = Owner{"batch/v1", "Job", "train", "j1"};
    pod.is_gated = true;
    world_.put(pod);
  }
  net::HttpResponse ask(const std::string& body, const std::string& token = "token") {
    net::HttpRequest request;
    request.method = "POST";
    request.path = api::kGangsPath;
    request.body = body;
    if (!token.empty()) request.headers["Authorization"] = "Bearer " + token;
    std::optional<net::HttpResponse> answer;
    const auto exchange = session_->send(
        std::move(request), 10s,
        [&answer](const Result<net::HttpResponse>& got) { answer = got.value_or(net::HttpResponse{}); });
    EXPECT_TRUE(net::testing::run_until(loop_, [&] { return answer.has_value(); }));
    return answer.value_or(net::HttpResponse{});
  }
  net::HttpResponse ask_for(const std::string& pod, const std::string& token = "token") {
    return ask(api::to_json(api::GangQuestion{"uid-" + pod}), token);
  }
  api::GangAnswer answer_for(const std::string& pod) {
    const auto answer = ask_for(pod);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return api::parse_gang_answer(answer.body).value_or(api::GangAnswer{});
  }

  kube::testing::SetClock clock_;
  net::EventLoop loop_;
  net::HttpServer api_{loop_, {}};
  net::HttpServer server_{loop_, {}};
  World world_;
  bool leads_ = true;
  std::string review_;
  int status_ = 201;
  std::vector<std::string> reviews_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<GangService> service_;
  std::unique_ptr<net::HttpSession> session_;
};

TEST_F(GangServiceTest, an_agent_is_told_whom_its_pod_waits_for) {
  add_pod("train-1", "n2");
  const auto answer = answer_for("train-0");
  EXPECT_FALSE(answer.may_start);
  EXPECT_EQ(answer.message, "waiting for 1 of 2 pods of Job train: train-1 on node n2 is being tested");
}

TEST_F(GangServiceTest, whose_the_token_is_is_asked_once_in_a_while) {
  for (int i = 0; i < 3; ++i)
    static_cast<void>(answer_for("train-0"));
  ASSERT_THAT(reviews_, SizeIs(1));
  EXPECT_THAT(reviews_[0], HasSubstr(R"("token":"token","audiences":["autopilot.ibm.com"])"));
  clock_.time += GangService::kRemembered;
  static_cast<void>(answer_for("train-0"));
  EXPECT_THAT(reviews_, SizeIs(2));
}

TEST_F(GangServiceTest, nobody_asks_for_pods_of_other_nodes) {
  add_pod("train-1", "n2");
  const auto answer = ask_for("train-1");
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr("is on node n2"));
  // And did not count as proven.
  EXPECT_FALSE(answer_for("train-0").may_start);
}

TEST_F(GangServiceTest, whoever_is_no_agent_is_refused) {
  EXPECT_EQ(ask_for("train-0", "").status, 401);
  is_user("system:serviceaccount:team:default", "n1");
  EXPECT_EQ(ask_for("train-0", "of-a-pod").status, 403);
  is_user(kAgent, "");
  EXPECT_EQ(ask_for("train-0", "of-no-node").status, 403);
  review_ = R"({"kind":"TokenReview","status":{"authenticated":false}})";
  EXPECT_EQ(ask_for("train-0", "made-up").status, 401);
  status_ = 403;
  EXPECT_EQ(ask_for("train-0", "not-asked").status, 503);
}

TEST_F(GangServiceTest, a_pod_that_the_watch_has_not_told_of_waits) {
  const auto answer = answer_for("new");
  EXPECT_FALSE(answer.may_start);
  EXPECT_THAT(answer.message, HasSubstr("not seen the pod"));
}

TEST_F(GangServiceTest, who_does_not_lead_or_has_not_seen_the_cluster_sends_away) {
  world_.is_complete = false;
  EXPECT_EQ(ask_for("train-0").status, 503);
  leads_ = false;
  EXPECT_EQ(ask_for("train-0").status, 503);
}

TEST_F(GangServiceTest, what_is_no_question_is_refused) {
  EXPECT_EQ(ask("{}").status, 400);
  EXPECT_EQ(ask(std::string(GangService::kLongestBody + 1, ' ')).status, 413);
}

}  // namespace
}  // namespace autopilot::controller
