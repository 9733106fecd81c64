// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "kube/base64.hpp"
#include "kube/scripted_api.hpp"
#include "net/http_server.hpp"
#include "net/http_session.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",)"
    R"("kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},)"
    R"("object":{"metadata":{"name":"p","labels":{"autopilot":""}},"spec":{"containers":[{"name":"main",)"
    R"("image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}}})";

class WebhookServiceTest : public ::testing::Test {
 protected:
  WebhookServiceTest() {
    config_.webhook.enabled = true;
    config_.webhook.image = "registry.example/autopilot@sha256:77";
    config_.webhook.agent_url = "https://autopilot-node.autopilot.svc:3334";
    service_.add_routes(server_);
    session_ = std::make_unique<net::HttpSession>(
        loop_, net::ServerUrl{false, "127.0.0.1", server_.listen_tcp("127.0.0.1:0").value(), ""}, nullptr);
  }
  // The answer, with its patch readable.
  std::string review() {
    std::optional<std::string> body;
    net::HttpRequest request;
    request.method = "POST";
    request.path = "/mutate-pod";
    request.body = kReview;
    const auto exchange = session_->send(
        std::move(request), 10s,
        [&body](const Result<net::HttpResponse>& got) { body = got ? got->body : got.error().what; });
    EXPECT_TRUE(net::testing::run_until(loop_, [&body] { return body.has_value(); }));
    std::string text = body.value_or("");
    const std::string mark = R"("patch":")";
    const auto from = text.find(mark);
    if (from == std::string::npos) return text;
    const auto begin = from + mark.size();
    return text + kube::decode_base64(text.substr(begin, text.find('"', begin) - begin)).value_or("");
  }

  kube::testing::SetClock clock_;
  net::EventLoop loop_;
  config::ControllerConfig config_;
  WebhookService service_{clock_};
  net::HttpServer server_{loop_, {}};
  std::unique_ptr<net::HttpSession> session_;
};

TEST_F(WebhookServiceTest, a_pod_gets_what_the_configuration_says_and_whom_to_believe) {
  service_.use(config_, config_.webhook.image, "the authority");
  const std::string answer = review();
  EXPECT_THAT(answer, HasSubstr("autopilot-preflight"));
  EXPECT_THAT(answer, HasSubstr("registry.example/autopilot@sha256:77"));
  EXPECT_THAT(answer, HasSubstr("https://autopilot-node.autopilot.svc:3334"));
  EXPECT_THAT(answer, HasSubstr("the authority"));
  EXPECT_EQ(service_.preflight().reviews, 1);
}

TEST_F(WebhookServiceTest, pods_stay_as_they_are_before_it_is_known_whom_to_believe_and_where_it_is_off) {
  EXPECT_THAT(review(), Not(HasSubstr("autopilot-preflight")));
  service_.use(config_, config_.webhook.image, "");
  EXPECT_THAT(review(), Not(HasSubstr("autopilot-preflight")));
  config_.webhook.enabled = false;
  service_.use(config_, config_.webhook.image, "the authority");
  EXPECT_THAT(review(), HasSubstr(R"("allowed":true)"));
}

TEST_F(WebhookServiceTest, a_new_configuration_counts_from_the_next_pod_on) {
  service_.use(config_, config_.webhook.image, "the authority");
  config_.webhook.resources = {"example.com/npu"};
  service_.use(config_, config_.webhook.image, "the authority");
  EXPECT_THAT(review(), Not(HasSubstr("autopilot-preflight")));
}

}  // namespace
}  // namespace autopilot::controller
