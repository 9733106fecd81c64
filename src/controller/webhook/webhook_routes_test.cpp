// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/webhook_routes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>

#include "controller/webhook/test_reviews.hpp"
#include "host/clock/system_clock.hpp"
#include "net/test_server.hpp"

namespace autopilot::controller {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;

// The member of the figures that stands for this outcome.
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

}  // namespace
}  // namespace autopilot::controller
