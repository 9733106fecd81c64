// SPDX-License-Identifier: Apache-2.0
#include "preflight/pod_callers.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/kube/scripted_api.hpp"

namespace autopilot::preflight {
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
Scripted pod_in(const std::string& inits, const std::string& statuses, const std::string& phase) {
  return {
      answer(200, R"({"metadata":{"name":"train-0","namespace":"team-a","uid":"u1","labels":{"autopilot":""}},
    "spec":{"nodeName":"gpu-7","serviceAccountName":"ci","initContainers":[)" +
                      inits + R"(],"containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]},
    "status":{"phase":")" +
                      phase + R"(","initContainerStatuses":[)" + statuses + "]}}")};
}
Scripted pod_answer(const std::string& uid = "u1", const std::string& node = "gpu-7",
                    const std::string& labels = R"("autopilot":"")", const std::string& account = "ci") {
  return {answer(
      200,
      R"({"metadata":{"name":"train-0","namespace":"team-a","uid":")" + uid + R"(","labels":{)" + labels +
          R"(},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"j1",
    "controller":true}]},"spec":{"nodeName":")" +
          node + R"(","serviceAccountName":")" + account +
          R"(","initContainers":[{"name":"autopilot-preflight"}],"containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]},
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
  refuses({token_of("alice")}, 403, "not a service account");
  refuses({token_of("system:serviceaccount:team-a:ci")}, 403, "not bound to a pod");
  refuses({token_of_pod("gpu-8")}, 403, "a pod of another node, gpu-8");
  refuses({token_of_pod(), pod_answer("u2")}, 403, "another one than that of the token");
  refuses({token_of_pod(), pod_answer("u1", "gpu-8")}, 403, "not on this node");
  refuses({token_of_pod(), pod_answer("u1", "gpu-7", R"("app":"train")")}, 403, "no label 'autopilot'");
  refuses({token_of_pod(), pod_answer("u1", "gpu-7", R"("autopilot":"")", "other")}, 403, "another account");
  refuses({token_of_pod(), {answer(404, "{}")}}, 403, "404");
}

TEST_F(PodCallersTest, a_pod_is_served_in_its_gate_alone) {
  const std::string gate = R"({"name":"autopilot-preflight"})";
  const auto ended = [](int code) {
    return R"({"name":"autopilot-preflight","state":{"terminated":{"exitCode":)" + std::to_string(code) +
           "}}}";
  };
  EXPECT_TRUE(ask({token_of_pod(), pod_in(gate, "", "Pending")}).at(0).pod);
  refuses({token_of_pod(), pod_in("", "", "Pending")}, 403, "has no init container 'autopilot-preflight'");
  refuses({token_of_pod(), pod_in(gate, ended(0), "Pending")}, 403, "has left its gate");
  refuses({token_of_pod(), pod_in(gate, "", "Running")}, 403, "has left its gate");
  const std::string stays = R"({"name":"autopilot-preflight","restartPolicy":"Always"})";
  refuses({token_of_pod(), pod_in(stays, "", "Pending")}, 403, "has no init container");
  const std::string load =
      R"({"name":"load","restartPolicy":"Always","resources":{"limits":{"nvidia.com/gpu":"8"}}})";
  refuses({token_of_pod(), pod_in(load + "," + gate, "", "Pending")}, 403,
          "has devices in the container 'load', which runs beside its gate");
  callers_.reset();
  const std::string mesh = R"({"name":"mesh","restartPolicy":"Always"})";
  EXPECT_TRUE(ask({token_of_pod(), pod_in(mesh + "," + gate, "", "Pending")}).at(0).pod);
  callers_.reset();
  // It begins again, and its last end is still told.
  EXPECT_TRUE(ask({token_of_pod(), pod_in(gate, ended(1), "Pending")}).at(0).pod);
}

TEST_F(PodCallersTest, a_server_that_is_away_is_no_no) {
  refuses({{answer(503, "{}")}}, 503, "cannot be verified");
  refuses({token_of_pod(), {answer(500, "{}")}}, 503, "cannot be verified");
  refuses({{answer(201, "{}")}}, 503, "not a TokenReview");
}

TEST_F(PodCallersTest, those_who_ask_at_once_are_one_and_who_asks_again_is_asked_about_anew) {
  const auto told = ask({token_of_pod(), pod_answer(), token_of_pod(), pod_answer("u1", "gpu-8")}, 3);
  EXPECT_TRUE(told[0].pod && told[1].pod && told[2].pod);
  EXPECT_THAT(server_->requests(), SizeIs(2));
  // It may have begun meanwhile.
  EXPECT_FALSE(ask({}).at(0).pod);
  EXPECT_THAT(server_->requests(), SizeIs(4));
}

TEST_F(PodCallersTest, a_token_that_is_none_is_remembered_for_a_while) {
  const Scripted none{answer(201, R"({"kind":"TokenReview","status":{"error":"it has expired"}})")};
  EXPECT_EQ(ask({none, token_of_pod(), pod_answer()}).at(0).refusal.status, 401);
  EXPECT_EQ(ask({}).at(0).refusal.status, 401);
  EXPECT_THAT(server_->requests(), SizeIs(1));
  clock_.time += PodCallers::kRemembered;
  EXPECT_TRUE(ask({}).at(0).pod);
}

}  // namespace
}  // namespace autopilot::preflight
