// SPDX-License-Identifier: Apache-2.0
#include "kube/callers/caller_reviews.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::kube {
namespace {

using namespace std::chrono_literals;
using net::testing::answer;
using net::testing::Scripted;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

Scripted is_user(const std::string& name) {
  return {
      answer(201, R"({"kind":"TokenReview","status":{"authenticated":true,"audiences":["autopilot.ibm.com"],
                          "user":{"username":")" +
                      name + R"("}}})")};
}
Scripted is_nobody() {
  return {answer(201, R"({"kind":"TokenReview","status":{"error":"it has expired"}})")};
}
Scripted may(bool is_allowed) {
  return {answer(201, std::string(R"({"kind":"SubjectAccessReview","status":{"allowed":)") +
                          (is_allowed ? "true" : "false") + R"(,"reason":"a rule"}})")};
}

class CallerReviewsTest : public kube::testing::ScriptedApi {
 protected:
  void script(std::vector<Scripted> script) {
    serve(std::move(script));
    reviews_ = std::make_unique<CallerReviews>(*client_, clock_);
  }
  // "alice", or whose it is and why not.
  std::vector<std::string> ask(const std::vector<std::string>& tokens, const std::string& check = "gpu.xid") {
    std::vector<std::string> told;
    const kube::AccessQuestion question{"create", "autopilot.ibm.com", "checks", check,
                                        "node-1", "autopilot"};
    for (const std::string& token : tokens)
      reviews_->ask({token, ""}, question, [&told](const CallerReviews::Decision& decision) {
        const std::string why = decision.allowed ? ""
                                                 : std::string(to_string(decision.allowed.error().code)) +
                                                       ": " + decision.allowed.error().what;
        told.push_back(decision.user + (decision.user.empty() || why.empty() ? "" : " ") + why);
      });
    EXPECT_TRUE(net::testing::run_until(loop_, [&] { return told.size() == tokens.size(); }));
    return told;
  }

  std::unique_ptr<CallerReviews> reviews_;
};

TEST_F(CallerReviewsTest, the_cluster_is_asked_whose_it_is_and_what_that_user_may) {
  script({is_user("alice"), may(true)});
  EXPECT_THAT(ask({"t1"}), ElementsAre("alice"));
  const auto requests = server_->requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_THAT(requests[0],
              AllOf(StartsWith("POST /apis/authentication.k8s.io/v1/tokenreviews"),
                    HasSubstr(R"("token":"t1")"), HasSubstr(R"("audiences":["autopilot.ibm.com"])")));
  EXPECT_THAT(requests[1], AllOf(StartsWith("POST /apis/authorization.k8s.io/v1/subjectaccessreviews"),
                                 HasSubstr(R"("user":"alice")"), HasSubstr(R"("subresource":"gpu.xid")")));
}

TEST_F(CallerReviewsTest, what_a_user_may_is_asked_again_of_who_was_told_of_the_user) {
  script(
      {{answer(201, R"({"kind":"TokenReview","status":{"authenticated":true,"audiences":["autopilot.ibm.com"],
                           "user":{"username":"alice","uid":"7","groups":["a","b"],"extra":{"k":["v"]}}}})")},
       may(true),
       may(false)});
  const kube::AccessQuestion question{"create", "autopilot.ibm.com", "checks", "gpu.xid",
                                      "node-1", "autopilot"};
  std::vector<CallerReviews::Decision> told;
  const auto take = [&told](const CallerReviews::Decision& decision) { told.push_back(decision); };
  reviews_->ask({"t1", ""}, question, take);
  ASSERT_TRUE(net::testing::run_until(loop_, [&] { return told.size() == 1; }));
  EXPECT_TRUE(told[0].allowed);
  reviews_->ask({"", told[0].user_text}, question, take);
  ASSERT_TRUE(net::testing::run_until(loop_, [&] { return told.size() == 2; }));
  EXPECT_FALSE(told[1].allowed);
  EXPECT_EQ(told[1].user, "alice");
  const auto requests = server_->requests();
  ASSERT_THAT(requests, SizeIs(3));
  EXPECT_THAT(requests[2], AllOf(HasSubstr(R"("user":"alice")"), HasSubstr(R"("uid":"7")"),
                                 HasSubstr(R"("groups":["a","b"])"), HasSubstr(R"("extra":{"k":["v"]})")));
  reviews_->ask({"", "no user"}, question, take);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_FALSE(told[2].allowed);
  EXPECT_FALSE(told[2].is_known);
}

TEST_F(CallerReviewsTest, yes_and_no_are_remembered_for_ten_seconds) {
  script({is_user("alice"), may(true), is_user("bob"), may(false), is_user("alice"), may(false)});
  EXPECT_THAT(ask({"t1"}), ElementsAre("alice"));
  const std::string no =
      "bob denied: bob may not create checks/gpu.xid.autopilot.ibm.com node-1 in namespace "
      "autopilot: not allowed: a rule";
  EXPECT_THAT(ask({"t2"}), ElementsAre(no));
  clock_.time = 9s;
  EXPECT_THAT(ask({"t1", "t2"}), ElementsAre("alice", no));
  EXPECT_THAT(server_->requests(), SizeIs(4));
  clock_.time = 10s;
  EXPECT_THAT(ask({"t1"}), ElementsAre(StartsWith("alice denied: ")));
}

TEST_F(CallerReviewsTest, those_who_ask_the_same_at_once_share_an_answer) {
  script({is_user("alice"), may(true)});
  EXPECT_THAT(ask({"t1", "t1", "t1"}), ElementsAre("alice", "alice", "alice"));
}

TEST_F(CallerReviewsTest, what_one_may_is_no_yes_for_another_thing) {
  script({is_user("alice"), may(true), is_user("alice"), may(false)});
  EXPECT_THAT(ask({"t1"}), ElementsAre("alice"));
  EXPECT_THAT(ask({"t1"}, "gpu.ecc"), ElementsAre(HasSubstr("alice may not create checks/gpu.ecc")));
}

TEST_F(CallerReviewsTest, a_token_of_nobody_is_not_asked_about_further) {
  script({is_nobody()});
  EXPECT_THAT(ask({"t1"}), ElementsAre("denied: the token is not accepted: it has expired"));
  EXPECT_THAT(ask({"t1"}), ElementsAre("denied: the token is not accepted: it has expired"));
}

TEST_F(CallerReviewsTest, what_could_not_be_asked_is_no_answer_and_is_not_remembered) {
  script({{answer(403, R"({"kind":"Status","message":"autopilot cannot create tokenreviews"})")},
          {answer(201, "{}")},
          is_user("alice"),
          {answer(500, "")},
          is_user("alice"),
          may(true)});
  EXPECT_THAT(ask({"t1"}), ElementsAre(AllOf(StartsWith("unavailable: "),
                                             HasSubstr("autopilot cannot create tokenreviews"))));
  EXPECT_THAT(ask({"t1"}), ElementsAre(StartsWith("malformed: ")));
  EXPECT_THAT(ask({"t1"}), ElementsAre(StartsWith("alice unavailable: ")));
  EXPECT_THAT(ask({"t1"}), ElementsAre("alice"));
}

TEST_F(CallerReviewsTest, a_flood_leaves_room_for_what_else_is_asked) {
  std::vector<Scripted> answers;
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i <= CallerReviews::kMostAtOnce; ++i) {
    answers.push_back(is_nobody());
    tokens.push_back("t" + std::to_string(i));
  }
  script(std::move(answers));
  auto told = ask(tokens);
  EXPECT_EQ(told.front(), "exhausted: too many callers at once; try again");
  told.erase(told.begin());
  EXPECT_THAT(told, AllOf(SizeIs(CallerReviews::kMostAtOnce), Each(StartsWith("denied: "))));
  EXPECT_THAT(ask({"t-late"}), ElementsAre(StartsWith("denied: ")));
}

TEST_F(CallerReviewsTest, of_many_answers_the_oldest_goes) {
  std::vector<Scripted> answers(CallerReviews::kMostRemembered + 2, is_nobody());
  script(std::move(answers));
  for (std::size_t i = 0; i <= CallerReviews::kMostRemembered; ++i) {
    clock_.time = i * 1ms;
    EXPECT_THAT(ask({"t" + std::to_string(i)}), ElementsAre(StartsWith("denied: ")));
  }
  EXPECT_THAT(ask({"t1"}), ElementsAre(StartsWith("denied: ")));
  EXPECT_THAT(server_->requests(), SizeIs(CallerReviews::kMostRemembered + 1));
  EXPECT_THAT(ask({"t0"}), ElementsAre(StartsWith("denied: ")));
  EXPECT_THAT(server_->requests(), SizeIs(CallerReviews::kMostRemembered + 2));
}

}  // namespace
}  // namespace autopilot::kube
