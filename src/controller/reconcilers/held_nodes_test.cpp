// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/held_nodes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "controller/testing/remediation_fixture.hpp"

namespace autopilot::controller {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::FakeCluster;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::StartsWith;

World world_with_held(int count) {
  World world;
  for (int number = 0; number < count; ++number) {
    Node node{.name = "n" + std::to_string(number), .gpus = 8, .is_unschedulable = true};
    node.held = Hold{.plan = "p" + std::to_string(number), .since = WallTime{1'800'000'000s}};
    world.put(node);
  }
  return world;
}

TEST(HeldNodesList, says_since_when_by_which_plan_and_why) {
  World world = world_with_held(1);
  LedgerEntry plan;
  plan.name = "p0";
  plan.node = "n0";
  plan.cause = "gpu.pcie_bandwidth";
  world.put(plan);
  EXPECT_THAT(held_nodes(world),
              ElementsAre(Pair("n0", "since 2027-01-15T08:00:00.000Z by plan p0: gpu.pcie_bandwidth")));
}

TEST(HeldNodesList, a_cordon_of_somebody_else_is_not_ours) {
  World world;
  world.put(Node{.name = "by-hand", .gpus = 8, .is_unschedulable = true});
  Node given_back{.name = "given-back", .gpus = 8};
  given_back.held = Hold{.plan = "p", .since = {}};
  world.put(given_back);
  EXPECT_THAT(held_nodes(world), IsEmpty());
}

TEST(HeldNodesList, is_no_longer_than_an_object_may_be) {
  EXPECT_THAT(held_nodes(world_with_held(5), 3),
              ElementsAre(Pair("_more", "2 others"), Key("n0"), Key("n1"), Key("n2")));
}

int times(std::string_view word, std::string_view text) {
  int found = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

class HeldNodesTest : public testing::RemediationFixture {
 protected:
  static inline const std::string kMap = FakeCluster::kMaps + kHeldNodesName;

  HeldNodesTest() {
    add_pod(kPod, "n1");
    report_failure("r1", "n1");
  }
  void make_map() { cluster_.put(kMap, {{"kind", "ConfigMap"}}); }
  [[nodiscard]] std::string line_of(const char* node) const {
    return FakeCluster::text(*cluster_.find(kMap), {"data", node});
  }
};

TEST_F(HeldNodesTest, what_is_held_stands_in_the_map_until_it_is_given_back) {
  make_map();
  lead();
  settle();
  EXPECT_THAT(line_of("n1"), StartsWith("since " + now_text() + " by plan n1-"));
  EXPECT_EQ(line_of("n2"), "");

  clock_.time += 1h;
  for (const char* name : {"n2", "n3"})
    report_health(name, "PASS");
  report_health(
      "n1", "PASS",
      {boost::json::object{{"gpuUuid", "GPU-1"}, {"test", "gpu.pcie_bandwidth"}, {"time", now_text()}}});
  cluster_.bookmark();
  EXPECT_TRUE(run_until([&] { return !is_cordoned("n1") && line_of("n1").empty(); }));
}

TEST_F(HeldNodesTest, what_the_leader_before_left_there_is_put_right) {
  cluster_.put(kMap, {{"kind", "ConfigMap"}, {"data", boost::json::object{{"n3", "since long ago"}}}});
  lead();
  settle();
  EXPECT_EQ(line_of("n3"), "");
  EXPECT_NE(line_of("n1"), "");
}

TEST_F(HeldNodesTest, a_write_that_met_another_one_is_made_again) {
  make_map();
  int refused = 0;
  cluster_.refuse = [&](const std::string& write) -> std::optional<net::HttpResponse> {
    if (write != "PATCH " + kMap || refused++ > 0) return std::nullopt;
    return FakeCluster::refusal(409, "Conflict", "the object has been modified");
  };
  lead();
  EXPECT_TRUE(run_until([&] { return !line_of("n1").empty(); }));
}

TEST_F(HeldNodesTest, why_it_cannot_be_written_is_said_once_for_each_cause) {
  make_map();
  std::string refusal = "not now";
  int refused = 0;
  cluster_.refuse = [&](const std::string&) -> std::optional<net::HttpResponse> {
    ++refused;
    return FakeCluster::refusal(403, "Forbidden", refusal);
  };
  kube::Client client(loop_, cluster_.url(),
                      {.user_agent = "test", .field_manager = "test", .deadline = 20s});
  HeldNodes list(
      loop_, client, "autopilot", [] { return true; }, 1ms);
  ::testing::internal::CaptureStderr();
  list.show({{"n1", "since today"}});
  const bool is_refused = run_until([&] { return refused >= 3; });
  refusal = "never";
  const bool is_refused_again = run_until([&, before = refused] { return refused >= before + 3; });
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(is_refused && is_refused_again);
  EXPECT_EQ(times("the list of held nodes is not written", said), 2) << said;
  EXPECT_EQ(times("not now", said), 1) << said;
  EXPECT_EQ(times("never", said), 1) << said;
}

TEST_F(HeldNodesTest, without_the_map_everything_else_is_done_and_none_is_made) {
  lead();
  settle();
  EXPECT_TRUE(is_cordoned("n1"));
  EXPECT_EQ(cluster_.find(kMap), nullptr);
}

}  // namespace
}  // namespace autopilot::controller
