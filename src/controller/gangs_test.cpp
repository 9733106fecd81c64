// SPDX-License-Identifier: Apache-2.0

#include "controller/gangs.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/reviews.hpp"
#include "net/http_session.hpp"
#include "tests/support/controller/planner_fixture.hpp"
#include "tests/support/kube/scripted_api.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::controller {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Pods of the Job train, at their gates unless they have started.
class GangsTest : public Planner {
 protected:
  GangsTest() { add_nodes(8); }

  void gated(const std::string& name, const std::string& on, const std::string& job = "train") {
    add_pod(name, on, job, true);
  }
  // The message for its agent; empty: the pod can start.
  std::string ask(const std::string& name, std::size_t size = 0) {
    const Pod* pod = world_.pod("uid-" + name);
    EXPECT_NE(pod, nullptr) << name;
    if (pod == nullptr) return "there is no such pod";
    const auto answer = gangs_.ask(world_, *pod, {pod->uid, size}, mono_);
    EXPECT_EQ(answer.may_start, answer.message.empty()) << answer.message;
    return answer.message;
  }
  // The question of a pod that has not passed yet.
  api::GangAnswer ask_where(const std::string& name, std::size_t size = 0) {
    const Pod& pod = *world_.pod("uid-" + name);
    return gangs_.ask(world_, pod, {pod.uid, size, false}, mono_);
  }
  void pass_time(Duration time) { mono_ += time; }
  void begin(const std::string& name) {
    Pod pod = *world_.pod("uid-" + name);
    pod.is_gated = false;
    world_.put(pod);
  }

  Gangs gangs_;
  MonoTime mono_{1h};
};

TEST_F(GangsTest, one_that_is_alone_starts_at_once) {
  gated("train-0", "n1");
  EXPECT_EQ(ask("train-0"), "");
  Pod bare;
  bare.uid = "uid-bare";
  bare.node = "n2";
  bare.is_gated = true;
  world_.put(bare);
  EXPECT_EQ(ask("bare"), "");
}

TEST_F(GangsTest, nobody_starts_before_all_are_proven) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  gated("other-0", "n3", "other");
  EXPECT_EQ(ask("train-0"), "waiting for 1 of 2 pods of Job train: train-1 on node n2 is being tested");
  EXPECT_EQ(ask("train-1"), "");
  EXPECT_EQ(ask("train-0"), "");
}

TEST_F(GangsTest, who_was_let_in_counts_until_it_is_seen_to_have_begun) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  EXPECT_NE(ask("train-0"), "");
  EXPECT_EQ(ask("train-1"), "");
  // The agent of train-1 no longer asks, and the API server is slow.
  pass_time(1min);
  EXPECT_EQ(ask("train-0"), "");
}

TEST_F(GangsTest, one_whose_agent_asks_no_more_is_proven_no_more) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  gated("train-2", "n3");
  EXPECT_NE(ask("train-0"), "");
  pass_time(Gangs::kProven + 1s);
  EXPECT_THAT(ask("train-1"), HasSubstr("waiting for 2 of 3 pods"));
}

TEST_F(GangsTest, those_that_have_begun_hold_nobody_up) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  begin("train-1");
  EXPECT_EQ(ask("train-0"), "");
}

TEST_F(GangsTest, one_bad_node_moves_one_pod_and_the_others_wait_for_it) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  put_report(add_pod("train-2", "n3", "train", true));
  EXPECT_NE(ask("train-0"), "");
  EXPECT_EQ(ask("train-1"),
            "waiting for 1 of 3 pods of Job train: train-2 on node n3 was found not fit to start there");
  world_.remove_pod("uid-train-2");
  EXPECT_EQ(ask("train-0"), "waiting for 1 of 3 pods of Job train: 1 is on no node");
  gated("train-2b", "", "train");
  EXPECT_THAT(ask("train-1"), HasSubstr("1 is on no node"));
  gated("train-2b", "n4", "train");
  EXPECT_THAT(ask("train-1"), HasSubstr("train-2b on node n4 is being tested"));
  EXPECT_NE(ask("train-0"), "");
  EXPECT_EQ(ask("train-2b"), "");
  EXPECT_EQ(ask("train-0"), "");
  EXPECT_EQ(ask("train-1"), "");
}

TEST_F(GangsTest, also_when_it_is_gone_before_anybody_has_asked) {
  gated("train-0", "n1");
  put_report(add_pod("train-1", "n2", "train", true));
  Pod deleted = *world_.pod("uid-train-1");
  deleted.is_deleting = true;
  world_.put(deleted);
  EXPECT_EQ(ask("train-0"), "waiting for 1 of 2 pods of Job train: 1 is on no node");
  gated("train-1b", "");
  EXPECT_EQ(ask("train-0"), "waiting for 1 of 2 pods of Job train: 1 is on no node");
  world_.remove_pod("uid-train-1");
  EXPECT_EQ(ask_where("train-0").message, "waiting for 1 of 2 pods of Job train: 1 is on no node");
  gated("train-1b", "n3");
  EXPECT_THAT(ask("train-0"), HasSubstr("1 of 2 pods of Job train: train-1b on node n3 is being tested"));
  EXPECT_EQ(ask("train-1b"), "");
}

TEST_F(GangsTest, one_that_has_ended_is_not_missed_by_the_next) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  begin("train-0");
  begin("train-1");
  gated("train-2", "n3");
  EXPECT_EQ(ask_where("train-2").message, "");
  world_.remove_pod("uid-train-0");
  EXPECT_EQ(ask("train-2"), "");
}

TEST_F(GangsTest, who_was_let_in_stays_let_in) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  EXPECT_NE(ask("train-0"), "");
  EXPECT_EQ(ask("train-1"), "");
  world_.remove_pod("uid-train-1");
  EXPECT_EQ(ask("train-0"), "");
}

TEST_F(GangsTest, a_pod_that_finds_no_node_is_not_waited_for) {
  gated("train-0", "n1");
  gated("train-1", "");
  EXPECT_EQ(ask("train-0"), "");
}

TEST_F(GangsTest, unless_the_job_says_how_many_it_is) {
  gated("train-0", "n1");
  EXPECT_EQ(ask("train-0", 3), "waiting for 2 of 3 pods of Job train: 2 are on no node");
  gated("train-1", "n2");
  gated("train-2", "n3");
  EXPECT_NE(ask("train-1", 3), "");
  EXPECT_EQ(ask("train-2", 3), "");
}

TEST_F(GangsTest, who_is_not_proven_is_told_where_the_others_are) {
  gated("train-0", "n1");
  gated("train-1", "n3");
  gated("train-2", "n2");
  gated("train-3", "n2");
  const auto answer = ask_where("train-2");
  EXPECT_TRUE(answer.may_start);
  EXPECT_THAT(answer.nodes, ElementsAre("n3", "n1"));
  EXPECT_THAT(ask_where("train-0").nodes, ElementsAre("n2", "n3"));
  // It does not count as passed.
  EXPECT_THAT(ask("train-1"), HasSubstr("waiting for 3 of 4 pods"));
}

TEST_F(GangsTest, and_waits_until_all_have_a_node) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  const auto answer = ask_where("train-0", 3);
  EXPECT_FALSE(answer.may_start);
  EXPECT_EQ(answer.message, "waiting for 1 of 3 pods of Job train: 1 is on no node");
  EXPECT_THAT(answer.nodes, ElementsAre("n2"));
  gated("train-2", "n3");
  EXPECT_TRUE(ask_where("train-0", 3).may_start);
}

TEST_F(GangsTest, also_where_nobody_says_how_many_they_are) {
  gated("train-0", "n1");
  gated("train-1", "");
  EXPECT_EQ(ask_where("train-0").message, "waiting for 1 of 2 pods of Job train: 1 is on no node");
  gated("train-1", "n2");
  EXPECT_TRUE(ask_where("train-0").may_start);
}

TEST_F(GangsTest, pods_without_gpus_are_no_part_of_a_test_of_the_network) {
  gated("train-0", "n1");
  gated("launcher", "n2");
  Pod launcher = *world_.pod("uid-launcher");
  launcher.gpus = 0;
  launcher.is_gated = false;
  world_.put(launcher);
  EXPECT_THAT(ask_where("train-0").nodes, IsEmpty());
}

TEST_F(GangsTest, of_many_nodes_each_is_named_as_often) {
  constexpr std::size_t kNodes = 100;
  for (std::size_t i = 100; i < 100 + kNodes; ++i)
    gated("train-" + std::to_string(i), "m" + std::to_string(i));
  std::map<std::string, std::size_t> named;
  for (std::size_t i = 100; i < 100 + kNodes; ++i)
    for (const std::string& node : ask_where("train-" + std::to_string(i)).nodes)
      ++named[node];
  EXPECT_THAT(named, SizeIs(kNodes));
  for (const auto& [node, count] : named)
    EXPECT_EQ(count, api::GangAnswer::kMostNodes) << node;
}

TEST_F(GangsTest, the_jobs_of_a_set_are_one_gang_in_one_namespace) {
  const auto add = [this](const std::string& name, const std::string& on, const std::string& job) {
    gated(name, on, job);
    Pod pod = *world_.pod("uid-" + name);
    pod.set = Owner{.api_version = "jobset.x-k8s.io/v1alpha2", .kind = "JobSet", .name = "pre", .uid = "set"};
    world_.put(pod);
    return pod;
  };
  add("leader-0", "n1", "leader");
  add("worker-0", "n2", "worker");
  Pod foreign = add("forged-0", "n3", "forged");
  foreign.name_space = "elsewhere";
  world_.put(foreign);
  EXPECT_EQ(ask("leader-0"), "waiting for 1 of 2 pods of JobSet pre: worker-0 on node n2 is being tested");
  EXPECT_EQ(ask("forged-0"), "");
  EXPECT_EQ(ask("worker-0"), "");
  world_.remove_pod("uid-worker-0");
  EXPECT_EQ(ask("leader-0"), "");
}

TEST_F(GangsTest, names_the_worst_first_and_not_all) {
  gated("train-0", "n1");
  for (int i = 1; i < 7; ++i)
    gated("train-" + std::to_string(i), "n" + std::to_string(i + 1));
  put_report(*world_.pod("uid-train-6"));
  EXPECT_EQ(ask("train-0"),
            "waiting for 6 of 7 pods of Job train: train-6 on node n7 was found not fit to start there, "
            "train-1 on node n2 is being tested, train-2 on node n3 is being tested, and 3 more");
}

TEST_F(GangsTest, whoever_leads_next_learns_it_anew) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  EXPECT_NE(ask("train-0"), "");
  gangs_ = Gangs();
  EXPECT_NE(ask("train-1"), "");
  EXPECT_EQ(ask("train-0"), "");
}

TEST_F(GangsTest, remembers_so_many_jobs) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  EXPECT_NE(ask("train-0"), "");
  for (std::size_t i = 0; i < Gangs::kMost; ++i) {
    const std::string job = "job-" + std::to_string(i);
    gated(job + "-0", "n3", job);
    EXPECT_EQ(ask(job + "-0"), "");
  }
  // Removed from the cache, and requested again.
  EXPECT_NE(ask("train-1"), "");
  EXPECT_EQ(ask("train-0"), "");
}

namespace json = boost::json;
using namespace std::chrono_literals;

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
  // And did not count as passed.
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
  EXPECT_THAT(answer.message, HasSubstr("not read the pod"));
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
