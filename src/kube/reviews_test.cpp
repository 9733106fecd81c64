// SPDX-License-Identifier: Apache-2.0
#include "kube/reviews.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base64.hpp"

namespace autopilot::kube {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kAudience = "autopilot.ibm.com";

std::string review(const std::string& status) {
  return R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":)" + status + "}";
}

std::string why_review_is_refused(const std::string& answer) {
  const auto user = parse_token_review(answer, kAudience);
  return user ? "" : std::string(to_string(user.error().code)) + " " + user.error().what;
}

TEST(TokenReview, asks_for_our_audience_alone) {
  const auto sent = json::parse(token_review_json("t0\"ken", kAudience)).as_object();
  EXPECT_EQ(sent.at("kind"), "TokenReview");
  EXPECT_EQ(sent.at("spec").at("token"), "t0\"ken");
  EXPECT_EQ(sent.at("spec").at("audiences"), json::array{kAudience});
}

TEST(TokenReview, tells_who_it_is) {
  const auto user = parse_token_review(
      review(R"({"authenticated":true,"audiences":["autopilot.ibm.com"],"user":{"username":"alice","uid":"u1",
                 "groups":["team-a",7,"system:authenticated"],"extra":{"pod":["p"],"odd":"text"}}})"),
      kAudience);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "alice");
  EXPECT_EQ(user->uid, "u1");
  EXPECT_THAT(user->groups, ElementsAre("team-a", "system:authenticated"));
  EXPECT_EQ(user->extra, (decltype(user->extra){{"odd", {}}, {"pod", {"p"}}}));
}

TEST(TokenReview, refuses_what_is_nobodys_or_for_others) {
  EXPECT_EQ(why_review_is_refused(review(R"({"authenticated":false,"error":"token has expired"})")),
            "denied the token is not accepted: token has expired");
  EXPECT_EQ(why_review_is_refused(review("{}")), "denied the token is not accepted");
  // A server that knows no audiences, and one that found another.
  EXPECT_EQ(why_review_is_refused(review(R"({"authenticated":true,"user":{"username":"alice"}})")),
            "denied the token is not for the audience autopilot.ibm.com");
  EXPECT_EQ(why_review_is_refused(
                review(R"({"authenticated":true,"audiences":["api"],"user":{"username":"alice"}})")),
            "denied the token is not for the audience autopilot.ibm.com");
  EXPECT_EQ(
      why_review_is_refused(review(R"({"authenticated":true,"audiences":["autopilot.ibm.com"],"user":{}})")),
      "denied the token has no user");
  EXPECT_EQ(why_review_is_refused(review(R"({"authenticated":"true","audiences":["autopilot.ibm.com"]})")),
            "denied the token is not accepted");
}

TEST(TokenReview, takes_no_other_answer) {
  for (const char* answer :
       {"", "[]", "{}", R"({"kind":"TokenReview"})", R"({"kind":"TokenReview","status":1})",
        R"({"kind":"SubjectAccessReview","status":{"authenticated":true}})"})
    EXPECT_THAT(why_review_is_refused(answer), HasSubstr("malformed")) << answer;
}

TEST(UserText, says_all_that_decides_what_a_user_may) {
  const UserInfo user{"alice \n", "u1", {"team-a", "team \xc3\xa4"}, {{"pod", {"p", ""}}, {"none", {}}}};
  const auto text = user_text(user);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
            std::string::npos);
  EXPECT_EQ(parse_user_text(*text).value(), user);
}

TEST(UserText, is_so_long_and_no_longer) {
  const UserInfo user{"alice", "", {std::string(kLongestUser, 'x')}, {}};
  ASSERT_FALSE(user_text(user));
  EXPECT_EQ(user_text(user).error().code, Errc::exhausted);
  EXPECT_FALSE(parse_user_text(encode_base64(R"({"username":")" + std::string(kLongestUser, 'x') + "\"}")));
}

TEST(UserText, nothing_else_is_a_user) {
  for (const std::string& text : {std::string(), std::string("alice"), std::string("\0", 1),
                                  encode_base64("alice"), encode_base64("[]"), encode_base64("{}"),
                                  encode_base64(R"({"username":7})"), encode_base64(R"({"groups":["a"]})")})
    EXPECT_FALSE(parse_user_text(text)) << text;
}

TEST(AccessReview, asks_in_the_words_of_the_user_and_the_question) {
  const UserInfo user{"alice", "u1", {"team-a"}, {{"pod", {"p"}}}};
  const AccessQuestion question{"create", "autopilot.ibm.com", "checks", "gpu.xid", "node-1", "autopilot"};
  EXPECT_EQ(to_string(question), "create checks/gpu.xid.autopilot.ibm.com node-1 in namespace autopilot");
  const auto spec = json::parse(access_review_json(user, question)).at("spec").as_object();
  EXPECT_EQ(spec, json::parse(R"({"user":"alice","uid":"u1","groups":["team-a"],"extra":{"pod":["p"]},
      "resourceAttributes":{"verb":"create","group":"autopilot.ibm.com","resource":"checks",
      "subresource":"gpu.xid","name":"node-1","namespace":"autopilot"}})"));
}

TEST(AccessReview, is_a_yes_only_where_it_says_so) {
  const auto answer = [](const std::string& status) {
    const auto allowed = parse_access_review(R"({"kind":"SubjectAccessReview","status":)" + status + "}");
    return allowed ? "yes" : std::string(to_string(allowed.error().code)) + " " + allowed.error().what;
  };
  EXPECT_EQ(answer(R"({"allowed":true})"), "yes");
  EXPECT_EQ(answer(R"({"allowed":false,"reason":"no rule"})"), "denied not allowed: no rule");
  EXPECT_EQ(answer(R"({"allowed":true,"denied":true})"), "denied not allowed");
  EXPECT_EQ(answer(R"({"allowed":"true"})"), "denied not allowed");
  EXPECT_EQ(answer("{}"), "denied not allowed");
  EXPECT_EQ(answer("7"), "malformed the response is not a SubjectAccessReview");
}

TEST(Reviews, a_token_of_a_pod_names_it) {
  UserInfo user{"system:serviceaccount:team-a:ci", "u", {}, {}};
  EXPECT_EQ(bound_pod(user).error().code, Errc::denied);
  const std::string key = "authentication.kubernetes.io/";
  user.extra = {{key + "pod-name", {"train-0"}}, {key + "pod-uid", {"p"}}, {key + "node-name", {"gpu-7"}}};
  EXPECT_EQ(bound_pod(user).value(), (BoundPod{"team-a", "ci", "train-0", "p", "gpu-7"}));
  user.extra.erase(key + "node-name");
  EXPECT_EQ(bound_pod(user)->node, "");
  user.extra[key + "pod-uid"] = {"p", "q"};
  EXPECT_FALSE(bound_pod(user));
  for (const char* name : {"alice", "system:serviceaccount:team-a", "system:serviceaccount:a:b:c", ""}) {
    user.name = name;
    EXPECT_FALSE(bound_pod(user)) << name;
  }
}

}  // namespace
}  // namespace autopilot::kube
