// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/admission_review.hpp"

#include <array>
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "controller/webhook/observation_review.hpp"
#include "controller/webhook/preflight_review.hpp"
#include "tests/support/controller/test_reviews.hpp"

namespace autopilot::controller {
namespace {

namespace json = boost::json;

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::read_answer;
using ::testing::SizeIs;

// Both webhooks, which must treat unreadable input alike.
std::array<HandlerAnswer, 2> answers_to(std::string_view text) {
  return {review(text, testing::test_settings()), observe(text, {})};
}

std::string request_with(const std::string& rest) {
  return std::string(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":")") +
         testing::kUid + "\"" + rest + "}}";
}

TEST(AdmissionReview, what_is_none_is_allowed_with_a_warning) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += R"({"a":)";
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{}"),
        std::string(R"({"request":7})"), std::string(R"({"request":{"uid":7}})"),
        std::string("\0\1\2\xff", 4), std::string("not JSON"), deep,
        std::string(R"({"apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"a"}})"),
        request_with(R"(,"object":)"), request_with(",\"a\":\"\xff\"")})
    for (const HandlerAnswer& answer : answers_to(text)) {
      EXPECT_EQ(answer.outcome, ReviewOutcome::malformed) << text.substr(0, 80);
      EXPECT_TRUE(read_answer(answer).is_allowed);
      EXPECT_THAT(read_answer(answer).patch, IsEmpty());
      EXPECT_THAT(read_answer(answer).warnings,
                  ElementsAre("Autopilot: not an AdmissionReview of admission.k8s.io/v1"));
    }
}

TEST(AdmissionReview, the_uid_of_one_that_is_cut_off_too_deep_or_too_long_is_answered) {
  std::string deep;
  for (int i = 0; i < 100; ++i)
    deep += "[";
  const std::string padding(kLongestReview, ' ');
  for (const std::string& text : {request_with(",\"object\":{"), request_with(",\"object\":" + deep),
                                  request_with(",\"object\":{}" + padding)})
    for (const HandlerAnswer& answer : answers_to(text)) {
      EXPECT_EQ(read_answer(answer).uid, testing::kUid);
      EXPECT_TRUE(read_answer(answer).is_allowed);
      EXPECT_THAT(read_answer(answer).warnings, SizeIs(1));
    }
  for (const HandlerAnswer& answer : answers_to(request_with(padding)))
    EXPECT_EQ(answer.outcome, ReviewOutcome::oversized);
}

TEST(AdmissionReview, a_uid_that_is_none_is_not_given_back) {
  for (const std::string& uid :
       {std::string("a\\\"b"), std::string("<script>"), std::string(129, 'a'), std::string()}) {
    const std::string text =
        R"({"apiVersion":"admission.k8s.io/v1","request":{"uid":")" + uid + R"(","operation":"CREATE"}})";
    for (const HandlerAnswer& answer : answers_to(text))
      EXPECT_EQ(read_answer(answer).uid, "");
  }
}

TEST(AdmissionReview, one_of_the_longest_and_deepest_that_there_are_is_read) {
  json::object labels{{"autopilot", ""}};
  std::string deep = "0";
  for (int i = 0; i < 50; ++i)
    deep.insert(0, R"({"f:a":)").append("}");
  json::value pod{{"metadata", {{"labels", labels}, {"managedFields", json::parse(deep, {}, {64})}}},
                  {"spec",
                   {{"containers", json::array{{{"name", "main"},
                                                {"args", {std::string(kLongestReview - 8192, 'a')}},
                                                {"resources", {{"limits", {{"amd.com/gpu", "1"}}}}}}}}}}};
  for (const HandlerAnswer& answer : answers_to(testing::review_of_pod(pod)))
    EXPECT_EQ(answer.outcome, ReviewOutcome::patched);
}

TEST(AdmissionReview, a_review_without_a_pod_is_allowed) {
  for (const auto* object : {"null", "[]", "\"pod\""}) {
    json::object request = testing::request_for(json::parse(object));
    for (const HandlerAnswer& answer : answers_to(testing::review_of(request))) {
      EXPECT_EQ(answer.outcome, ReviewOutcome::malformed);
      EXPECT_EQ(read_answer(answer).uid, testing::kUid);
    }
  }
}

TEST(AdmissionReview, warnings_have_the_length_that_an_api_server_shows) {
  const auto decide = [](const json::object&) {
    PodDecision decision;
    for (int i = 0; i < 20; ++i)
      decision.warnings.push_back(std::string(1000, 'a'));
    return decision;
  };
  const auto warnings = read_answer(answer_review(testing::review_of_pod(json::object{}), decide)).warnings;
  EXPECT_THAT(warnings, SizeIs(8));
  EXPECT_THAT(warnings, ::testing::Each(SizeIs(256)));
}

TEST(AdmissionReview, a_name_with_slash_and_tilde_is_one_part_of_a_path) {
  EXPECT_EQ(patch_token("a/b~c~1"), "a~1b~0c~01");
}

}  // namespace
}  // namespace autopilot::controller
