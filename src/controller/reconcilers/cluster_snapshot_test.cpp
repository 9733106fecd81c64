// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/cluster_snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/controller/remediation_fixture.hpp"

namespace autopilot::controller {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;

class ClusterSnapshotTest : public testing::RemediationFixture {
 protected:
  void look(SnapshotOptions options = {}) {
    options.name_space = "autopilot";
    client_ = std::make_unique<kube::Client>(
        loop_, cluster_.url(), kube::ClientOptions{.user_agent = "test", .field_manager = "test"});
    snapshot_ = std::make_unique<ClusterSnapshot>(
        loop_, *client_, clock_, std::move(options), policy_, [] { return 0.5; }, [this] { ++news_; });
    snapshot_->start();
  }
  [[nodiscard]] bool is_complete() {
    return run_until([this] { return snapshot_->world().is_complete; });
  }
  [[nodiscard]] bool sees(const std::function<bool(const World&)>& what) {
    return run_until([&] { return what(snapshot_->world()); });
  }

  std::unique_ptr<ClusterSnapshot> snapshot_;
  int news_ = 0;
};

TEST_F(ClusterSnapshotTest, has_nodes_with_what_their_agents_say_pods_with_accelerators_reports_and_plans) {
  add_pod(kPod, "n1");
  cluster_.put("/api/v1/namespaces/web/pods/front",
               {{"spec", json::object{{"nodeName", "n1"}}}, {"status", json::object{{"phase", "Running"}}}});
  report_failure("r1", "n1");
  look();
  EXPECT_FALSE(snapshot_->world().is_complete);
  ASSERT_TRUE(is_complete());
  const World& world = snapshot_->world();
  EXPECT_EQ(world.nodes().size(), 3U);
  EXPECT_EQ(world.node("n1")->verdict, Verdict::pass);
  EXPECT_EQ(world.pods_on("n1").size(), 1U);
  ASSERT_NE(world.report("r1"), nullptr);
  EXPECT_EQ(world.as_of, clock_.now().wall);
}

TEST_F(ClusterSnapshotTest, follows_what_changes_and_a_pod_that_takes_the_name_of_another) {
  add_pod(kPod, "n1");
  look();
  ASSERT_TRUE(is_complete());
  const std::string uid = *snapshot_->world().pods_on("n1").begin();
  cluster_.remove(kPod);
  add_pod(kPod, "n2");
  ASSERT_TRUE(sees([](const World& world) { return !world.pods_on("n2").empty(); }));
  EXPECT_EQ(snapshot_->world().pod(uid), nullptr);
  EXPECT_TRUE(snapshot_->world().pods_on("n1").empty());
  cluster_.remove(node_path("n3"));
  ASSERT_TRUE(sees([](const World& world) { return world.node("n3") == nullptr; }));
  report_health("n2", "EVICT");
  ASSERT_TRUE(sees([](const World& world) { return world.node("n2")->verdict == Verdict::evict; }));
}

TEST_F(ClusterSnapshotTest, an_agent_that_only_looked_again_is_no_news) {
  look();
  ASSERT_TRUE(is_complete());
  clock_.time += std::chrono::minutes{1};
  const int before = news_;
  report_health("n1", "PASS");
  ASSERT_TRUE(sees([this](const World& world) { return world.node("n1")->looked == clock_.now().wall; }));
  EXPECT_EQ(news_, before);
}

TEST_F(ClusterSnapshotTest, nodes_are_in_the_pools_of_the_policy_that_counts_now) {
  look();
  ASSERT_TRUE(is_complete());
  EXPECT_EQ(snapshot_->world().in_pool("all").size(), 0U);
  Policy policy;
  policy.pools = {{.name = "all", .selector = {}, .rules = {}}};
  snapshot_->use(policy);
  EXPECT_EQ(snapshot_->world().in_pool("all").size(), 3U);
}

TEST_F(ClusterSnapshotTest, of_more_than_can_be_kept_nothing_is_decided) {
  look({.name_space = {}, .view = {}, .most = 2});
  ASSERT_TRUE(run_until([this] { return snapshot_->problem().find("nodes: too many objects") == 0; }));
  EXPECT_FALSE(snapshot_->world().is_complete);
}

TEST_F(ClusterSnapshotTest, says_which_kind_nobody_tells_of) {
  cluster_.hide("remediationplans");
  look();
  ASSERT_TRUE(
      run_until([this] { return snapshot_->problem().find("remediationplans: not listed yet: ") == 0; }));
  EXPECT_THAT(snapshot_->problem(), HasSubstr("404"));
}

}  // namespace
}  // namespace autopilot::controller
