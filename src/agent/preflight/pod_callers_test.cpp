// SPDX-License-Identifier: Apache-2.0
#include "agent/preflight/pod_callers.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "kube/scripted_api.hpp"

namespace autopilot::agent {
namespace {

using namespace std::chrono_literals;
using net::testing::answer;
using net::testing::Scripted;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What the server reads in a token.
Scripted token_of_pod(const std::string& node = "gpu-7", const std::string& audience = "autopilot") {
  return {answer(
      201,
      R"({"kind":"TokenReview","status":{"authenticated":true,"audiences":[")" + audience + R"("],"user":{
    "username":"system:serviceaccount:team-a:ci","extra":{"authentication.kubernetes.io/pod-name":["train-0"],
    "authentication.kubernetes.io/pod-uid":["u1"])" +
          (node.empty() ? "" : R"(,"authentication.kubernetes.io/node-name":[")" + node + "\"]") + "}}}}")};
}
Scripted token_of(const std::string& user) {
  return {
      answer(201, R"({"kind":"TokenReview","status":{"authenticated":true,"audiences":["autopilot"],"user":{
    "username":")" + user +
                      "\"}}}")};
}
Scripted pod_answer(const std::string& uid = "u1", const std::string& node = "gpu-7",
                    const std::string& labels = R"("autopilot":"")", const std::string& account = "ci") {
  return {
      answer(200, R"({"metadata":{"name":"train-0","namespace":"team-a","uid":")" + uid + R"(","labels":{)" +
                      labels +
                      R"(},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"j1",
    "controller":true}]},"spec":{"nodeName":")" +
                      node + R"(","serviceAccountName":")" + account +
                      R"(","containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]},
    "status":{"phase":"Pending"}})")};
}

class PodCallersTest : public kube::testing::ScriptedApi {
 protected:
  std::vector<PodCallers::Answer> ask(std::vector<Scripted> script, std::size_t times = 1) {
    if (!callers_) {
      serve(std::move(script));
      callers_ = std::make_unique<PodCallers>(*client_, clock_, "gpu-7", "autopilot.ibm.com");
    }
    std::vector<PodCallers::Answer> told;
    for (std::size_t i = 0; i < times; ++i)
      callers_->ask("secret", [&told](const PodCallers::Answer& one) { told.push_back(one); });
    EXPECT_TRUE(net::testing::run_until(loop_, [&] { return told.size() == times; }));
    return told;
  }
  void refuses(std::vector<Scripted> script, int status, const std::string& words) {
    callers_.reset();
    const auto told = ask(std::move(script));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_FALSE(told[0].pod);
    EXPECT_EQ(told[0].refusal.status, status) << told[0].refusal.why;
    EXPECT_THAT(told[0].refusal.why, HasSubstr(words));
  }

  std::unique_ptr<PodCallers> callers_;
};

TEST_F(PodCallersTest, a_pod_of_this_node_is_known_with_what_it_asks_for_and_whose_it_is) {
  const auto told = ask({token_of_pod(), pod_answer()});
  ASSERT_TRUE(told.at(0).pod) << told[0].refusal.why;
  EXPECT_EQ(told[0].pod->claim.owner.pod, "train-0");
  EXPECT_EQ(told[0].pod->claim.owner.pod_namespace, "team-a");
  EXPECT_EQ(told[0].pod->claim.owner.pod_uid, "u1");
  EXPECT_EQ(told[0].pod->claim.whole, 8);
  EXPECT_EQ(told[0].pod->job, (kube::ReportedJob{"batch/v1", "Job", "train", "j1"}));
  EXPECT_THAT(server_->requests(),
              ElementsAre(AllOf(StartsWith("POST /apis/authentication.k8s.io/v1/tokenreviews"),
                                HasSubstr(R"("audiences":["autopilot"])")),
                          StartsWith("GET /api/v1/namespaces/team-a/pods/train-0 ")));
}

TEST_F(PodCallersTest, a_server_that_tells_no_node_is_asked_for_the_pod) {
  EXPECT_TRUE(ask({token_of_pod(""), pod_answer()}).at(0).pod);
  refuses({token_of_pod(""), pod_answer("u1", "gpu-8")}, 403, "not on this node");
}

TEST_F(PodCallersTest, nobody_else_is_believed) {
  refuses({{answer(201, R"({"kind":"TokenReview","status":{"error":"it has expired"}})")}}, 401,
          "it has expired");
  refuses({token_of_pod("gpu-7", "autopilot.ibm.com")}, 401, "not for the audience autopilot");
  refuses({token_of("alice")}, 403, "no service account");
  refuses({token_of("system:serviceaccount:team-a:ci")}, 403, "bound to no pod");
  refuses({token_of_pod("gpu-8")}, 403, "a pod of another node, gpu-8");
  refuses({token_of_pod(), pod_answer("u2")}, 403, "another one than that of the token");
  refuses({token_of_pod(), pod_answer("u1", "gpu-8")}, 403, "not on this node");
  refuses({token_of_pod(), pod_answer("u1", "gpu-7", R"("app":"train")")}, 403, "no label 'autopilot'");
  refuses({token_of_pod(), pod_answer("u1", "gpu-7", R"("autopilot":"")", "other")}, 403, "another account");
  refuses({token_of_pod(), {answer(404, "{}")}}, 403, "404");
}

TEST_F(PodCallersTest, a_server_that_is_away_is_no_no) {
  refuses({{answer(503, "{}")}}, 503, "cannot be asked");
  refuses({token_of_pod(), {answer(500, "{}")}}, 503, "cannot be asked");
  refuses({{answer(201, "{}")}}, 503, "no TokenReview");
}

TEST_F(PodCallersTest, who_asks_again_is_known_for_a_while_and_who_was_refused_is_asked_about_anew) {
  const auto told = ask(
      {token_of_pod(), pod_answer(), token_of_pod(), pod_answer("u1", "gpu-8"), token_of_pod(), pod_answer()},
      3);
  EXPECT_TRUE(told[0].pod && told[1].pod && told[2].pod);
  EXPECT_TRUE(ask({}).at(0).pod);
  EXPECT_THAT(server_->requests(), SizeIs(2));
  clock_.time += PodCallers::kRemembered;
  EXPECT_FALSE(ask({}).at(0).pod);
  EXPECT_TRUE(ask({}).at(0).pod);
  EXPECT_THAT(server_->requests(), SizeIs(6));
}

}  // namespace
}  // namespace autopilot::agent
