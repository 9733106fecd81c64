// SPDX-License-Identifier: Apache-2.0

#include "controller/webhook/webhook_service.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "host/clock/system_clock.hpp"
#include "kube/base64.hpp"
#include "net/http_server.hpp"
#include "net/http_session.hpp"
#include "tests/support/controller/test_reviews.hpp"
#include "tests/support/kube/scripted_api.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::controller {

namespace {

namespace json = boost::json;

using ::testing::HasSubstr;

// The counter of this outcome.
std::uint64_t count_of(const ReviewFigures& figures, ReviewOutcome outcome) {
  for (std::size_t i = 0; i < kReviewOutcomes.size(); ++i)
    if (kReviewOutcomes[i].first == outcome) return figures.by_outcome[i];
  return 0;
}

class WebhookRoutes : public ::testing::Test {
 protected:
  void start() {
    add_webhook_routes(server_.server(), {[this] { return preflight_; },
                                          [] { return std::make_shared<const ObservationSettings>(); },
                                          clock_, preflight_counts_, observation_counts_});
    server_.start();
  }
  std::string ask(const std::string& path, const std::string& body) {
    return server_.ask("POST " + path +
                       " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  static json::value answer_in(const std::string& response) {
    return json::parse(response.substr(response.find("\r\n\r\n") + 4));
  }
  static std::string review_of_gpu_pod() {
    return testing::review_of_pod(json::parse(R"({"metadata": {"labels": {"autopilot": ""}},
      "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})"));
  }

  std::shared_ptr<const WebhookSettings> preflight_ =
      std::make_shared<const WebhookSettings>(testing::test_settings());
  host::SystemClock clock_;
  ReviewCounts preflight_counts_;
  ReviewCounts observation_counts_;
  net::testing::TestServer server_;
};

TEST_F(WebhookRoutes, each_answers_reviews_and_counts_them) {
  start();
  const json::value answer = answer_in(ask("/mutate-pod", review_of_gpu_pod()));
  EXPECT_EQ(answer.at("response").at("uid"), testing::kUid);
  EXPECT_TRUE(answer.at("response").as_object().contains("patch"));
  EXPECT_TRUE(
      answer_in(ask("/observe-pod", review_of_gpu_pod())).at("response").as_object().contains("patch"));
  EXPECT_THAT(ask("/observe-pod", "nothing"), HasSubstr("HTTP/1.1 200"));

  EXPECT_TRUE(answer_in(ask("/mutate-pod-in-namespace", review_of_gpu_pod()))
                  .at("response")
                  .as_object()
                  .contains("patch"));

  const ReviewFigures preflight = preflight_counts_.figures();
  EXPECT_EQ(preflight.reviews, 2U);
  EXPECT_EQ(count_of(preflight, ReviewOutcome::patched), 2U);
  EXPECT_GT(preflight.total, Duration{0});
  const ReviewFigures observation = observation_counts_.figures();
  EXPECT_EQ(count_of(observation, ReviewOutcome::patched), 1U);
  EXPECT_EQ(count_of(observation, ReviewOutcome::malformed), 1U);
  EXPECT_EQ(std::accumulate(observation.by_outcome.begin(), observation.by_outcome.end(), std::uint64_t{0}),
            observation.reviews);
}

TEST_F(WebhookRoutes, a_review_beyond_what_an_api_server_sends_is_allowed) {
  start();
  const std::string answer = ask("/mutate-pod", std::string(kLongestReviewBody - 1, ' '));
  EXPECT_EQ(answer_in(answer).at("response").at("allowed"), true);
  EXPECT_EQ(count_of(preflight_counts_.figures(), ReviewOutcome::oversized), 1U);
}

TEST_F(WebhookRoutes, pods_begin_while_nobody_knows_what_they_should_get) {
  preflight_.reset();
  start();
  const json::value answer = answer_in(ask("/mutate-pod", review_of_gpu_pod()));
  EXPECT_EQ(answer.at("response").at("allowed"), true);
  EXPECT_EQ(answer.at("response").at("uid"), testing::kUid);
  EXPECT_FALSE(answer.at("response").as_object().contains("patch"));
  EXPECT_EQ(count_of(preflight_counts_.figures(), ReviewOutcome::not_ready), 1U);
}

TEST(ReviewCounts, a_bucket_has_what_took_as_long_or_less) {
  ReviewCounts counts;
  counts.add(ReviewOutcome::patched, std::chrono::microseconds{100});
  counts.add(ReviewOutcome::patched, std::chrono::milliseconds{2});
  counts.add(ReviewOutcome::malformed, std::chrono::seconds{2});
  EXPECT_THAT(counts.figures().at_most, ::testing::ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_EQ(counts.figures().reviews, 3U);
}

using namespace std::chrono_literals;
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
  // The response, with a readable patch.
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
