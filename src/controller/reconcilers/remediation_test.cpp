// SPDX-License-Identifier: Apache-2.0

#include "controller/reconcilers/remediation.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/controller/remediation_fixture.hpp"

namespace autopilot::controller {

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kNow{1'800'000'000s};

Kept kept(const std::string& name, Duration age, bool has_ended = true) {
  Kept object{.path = name, .meta = {}, .changed = kNow - age, .has_ended = has_ended};
  object.meta.uid = "u";
  object.meta.version = "7";
  return object;
}
std::vector<std::string> gone(std::vector<Kept> objects, const RetentionLimits& limits = {}) {
  std::vector<std::string> paths;
  for (const Write& write : too_old(std::move(objects), limits, kNow))
    paths.push_back(write.path);
  return paths;
}

TEST(Retention, what_has_ended_stays_for_a_month) {
  EXPECT_THAT(gone({kept("a", 31 * 24h), kept("b", 29 * 24h), kept("open", 365 * 24h, false)}),
              ElementsAre("a"));
}

TEST(Retention, the_oldest_go_first_when_there_are_too_many_and_open_ones_never) {
  const std::vector<Kept> five{kept("new", 1h), kept("old", 3h), kept("open", 9h, false), kept("mid", 2h),
                               kept("older", 4h)};
  EXPECT_THAT(gone(five, {.most = 3}), ElementsAre("older", "old"));
  EXPECT_THAT(gone(five, {.most = 5}), IsEmpty());
  EXPECT_EQ(gone(five, {.most = 0}).size(), 4U);
}

TEST(Retention, deletes_only_what_it_has_seen) {
  const Write write = too_old({kept("a", 31 * 24h)}, {}, kNow).at(0);
  EXPECT_EQ(write.method, Write::Method::remove);
  EXPECT_EQ(write.body, R"({"preconditions":{"uid":"u","resourceVersion":"7"}})");
}

using testing::FakeCluster;
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
  EXPECT_EQ(times("cannot write the list of held nodes", said), 2) << said;
  EXPECT_EQ(times("not now", said), 1) << said;
  EXPECT_EQ(times("never", said), 1) << said;
}

TEST_F(HeldNodesTest, without_the_map_everything_else_is_done_and_none_is_made) {
  lead();
  settle();
  EXPECT_TRUE(is_cordoned("n1"));
  EXPECT_EQ(cluster_.find(kMap), nullptr);
}

using ::testing::Contains;
using ::testing::HasSubstr;

namespace json = boost::json;

class RemediationTest : public testing::RemediationFixture {
 protected:
  [[nodiscard]] long count_of(const std::string& write) const {
    return std::ranges::count(cluster_.writes(), write);
  }
  [[nodiscard]] long evictions() const { return count_of("POST " + kPod + "/eviction"); }
  [[nodiscard]] std::string problem_of_plan() const {
    return FakeCluster::text(*cluster_.all(FakeCluster::kOurs + "remediationplans").at(0),
                             {"status", "problem"});
  }
  [[nodiscard]] bool is_evict_in_ledger() const {
    const auto plans = cluster_.all(FakeCluster::kOurs + "remediationplans");
    return !plans.empty() &&
           std::ranges::any_of(plans.at(0)->at("status").at("done").as_array(), [](const json::value& step) {
             return step.at("action").as_string() == "evict_pod";
           });
  }
  void let_pass(Duration time) {
    clock_.time += time;
    clock_.pauses += time;
  }
  [[nodiscard]] std::string note_on_foreign(const std::string& node) const {
    return FakeCluster::text(*cluster_.find(node_path(node)), {"metadata", "annotations", "foreign/note"});
  }
  [[nodiscard]] json::object pass() const {
    return {{"gpuUuid", "GPU-1"}, {"test", "gpu.pcie_bandwidth"}, {"time", now_text()}};
  }
  void cordon_by_hand(const std::string& name) {
    json::object node = *cluster_.find(node_path(name));
    node["spec"].as_object()["unschedulable"] = true;
    cluster_.put(node_path(name), node);
  }
};

TEST_F(RemediationTest, a_pod_whose_test_failed_is_moved_and_its_node_held) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  lead();
  settle();
  EXPECT_EQ(cluster_.find(kPod), nullptr);
  EXPECT_TRUE(is_cordoned("n1"));
  EXPECT_THAT(note_on("n1", "held"), HasSubstr(R"({"plan":"n1-)"));
  EXPECT_THAT(phases(), ElementsAre("held"));
  EXPECT_EQ(phase_of_report("r1"), "Acted");
  EXPECT_THAT(events(), Contains("NodeHeld Node/n1"));
  EXPECT_THAT(events(), Contains("PodMoved Job/train"));
  EXPECT_FALSE(is_cordoned("n2"));
}

TEST_F(RemediationTest, observing_writes_a_plan_the_report_and_events_and_nothing_else) {
  policy_.rules.mode = Mode::observe;
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  lead();
  settle();
  EXPECT_THAT(phases(), ElementsAre("recorded"));
  EXPECT_EQ(phase_of_report("r1"), "Planned");
  EXPECT_NE(cluster_.find(kPod), nullptr);
  for (const std::string& write : cluster_.writes())
    EXPECT_TRUE(write.find("/events") != std::string::npos ||
                write.find("/remediationplans") != std::string::npos ||
                write.find("/healthcheckreports/r1/status") != std::string::npos)
        << write;
}

TEST_F(RemediationTest, a_pod_that_its_budget_keeps_is_asked_again_later_and_the_plan_says_why) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  cluster_.guarded.insert(kPod);
  lead();
  settle();
  EXPECT_NE(cluster_.find(kPod), nullptr);
  EXPECT_TRUE(is_cordoned("n1"));
  EXPECT_THAT(phases(), ElementsAre("executing"));
  EXPECT_THAT(problem_of_plan(), HasSubstr("disruption budget"));
  EXPECT_EQ(evictions(), 1);
  settle();
  EXPECT_EQ(evictions(), 1) << "not again before its time";
  let_pass(std::chrono::seconds{59});
  settle();
  EXPECT_EQ(evictions(), 1) << "a budget is not asked all the time";
  EXPECT_THAT(problem_of_plan(), HasSubstr("disruption budget"));
  let_pass(std::chrono::seconds{1});
  settle();
  EXPECT_EQ(evictions(), 2);
  cluster_.guarded.clear();
  let_pass(std::chrono::minutes{1});
  settle();
  EXPECT_EQ(cluster_.find(kPod), nullptr);
  EXPECT_THAT(phases(), ElementsAre("held"));
  EXPECT_EQ(problem_of_plan(), "");
}

TEST_F(RemediationTest, a_plan_that_may_not_hold_its_node_says_what_keeps_the_pod_until_it_is_gone) {
  cordon_by_hand("n1");
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  cluster_.guarded.insert(kPod);
  lead();
  settle();
  EXPECT_THAT(phases(), ElementsAre("waiting"));
  EXPECT_THAT(problem_of_plan(), HasSubstr("disruption budget"));
  cluster_.guarded.clear();
  let_pass(std::chrono::minutes{1});
  settle();
  EXPECT_EQ(cluster_.find(kPod), nullptr);
  EXPECT_EQ(problem_of_plan(), "");
}

TEST_F(RemediationTest, a_pod_that_shall_go_is_in_the_ledger_before_it_is_asked_and_not_before_its_turn) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  std::vector<std::string> seen;
  cluster_.refuse = [&](const std::string& write) -> std::optional<net::HttpResponse> {
    if (write.starts_with("PATCH " + node_path("n1")) || write.ends_with("/eviction"))
      seen.push_back(write + (is_evict_in_ledger() ? " is in the ledger" : ""));
    return std::nullopt;
  };
  lead();
  settle();
  EXPECT_THAT(seen, ElementsAre("PATCH " + node_path("n1"), "POST " + kPod + "/eviction is in the ledger"));
}

TEST_F(RemediationTest, a_pod_that_was_not_asked_because_a_step_before_failed_is_asked_at_once) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  bool is_told = false;
  cluster_.refuse = [&](const std::string& write) -> std::optional<net::HttpResponse> {
    if (write != "PATCH " + node_path("n1") || std::exchange(is_told, true)) return std::nullopt;
    return FakeCluster::refusal(409, "Conflict", "the node has changed");
  };
  lead();
  settle();
  EXPECT_THAT(problem_of_plan(), HasSubstr("the node has changed"));
  let_pass(std::chrono::seconds{2});
  settle();
  EXPECT_EQ(cluster_.find(kPod), nullptr);
  EXPECT_THAT(phases(), ElementsAre("held"));
  EXPECT_EQ(problem_of_plan(), "");
}

TEST_F(RemediationTest, who_does_not_lead_begins_nothing) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  is_leader_ = false;
  lead();
  std::uint64_t looks = 0;
  ASSERT_TRUE(run_until([&] { return ++looks >= 500; }));
  EXPECT_THAT(cluster_.writes(), IsEmpty());
}

TEST_F(RemediationTest, who_stops_leading_in_the_middle_sends_nothing_more) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  std::size_t asked = 0;
  cluster_.refuse = [&](const std::string&) -> std::optional<net::HttpResponse> {
    if (++asked == 3) is_leader_ = false;
    return std::nullopt;
  };
  lead();
  std::uint64_t looks = 0;
  ASSERT_TRUE(run_until([&] { return asked >= 3 && ++looks >= 500; }));
  EXPECT_EQ(asked, 3U);
}

TEST_F(RemediationTest, a_node_that_was_cordoned_by_hand_stays_as_it_is) {
  cordon_by_hand("n1");
  const std::string before = json::serialize(*cluster_.find(node_path("n1")));
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  lead();
  settle();
  EXPECT_EQ(cluster_.find(kPod), nullptr) << "the pod's own GPUs failed";
  EXPECT_EQ(json::serialize(*cluster_.find(node_path("n1"))), before);
  EXPECT_THAT(phases(), ElementsAre("waiting"));
}

TEST_F(RemediationTest, a_node_is_given_back_when_it_was_proven_healthy_and_only_by_us) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  lead();
  settle();
  ASSERT_TRUE(is_cordoned("n1"));
  clock_.time += std::chrono::hours{1};
  for (const char* name : {"n1", "n2", "n3"})
    report_health(name, "PASS", {pass()});
  cluster_.bookmark();
  settle();
  EXPECT_FALSE(is_cordoned("n1"));
  EXPECT_EQ(note_on("n1", "held"), "");
  EXPECT_THAT(note_on("n1", "probation"), HasSubstr("until"));
  EXPECT_THAT(json::serialize(*cluster_.find(node_path("n1"))), HasSubstr(R"("key":"foreign")"));
  EXPECT_EQ(note_on_foreign("n1"), "stays");
  EXPECT_THAT(phases(), ElementsAre("probation"));
  EXPECT_EQ(phase_of_report("r1"), "Undone");
  EXPECT_THAT(events(), Contains("NodeReturned Node/n1"));
}

TEST_F(RemediationTest, who_uncordons_a_node_by_hand_gets_it) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  lead();
  settle();
  json::object node = *cluster_.find(node_path("n1"));
  node["spec"].as_object().erase("unschedulable");
  cluster_.put(node_path("n1"), node);
  settle();
  EXPECT_FALSE(is_cordoned("n1"));
  EXPECT_EQ(note_on("n1", "held"), "");
  EXPECT_THAT(phases(), ElementsAre("over"));
}

TEST_F(RemediationTest, a_write_without_an_answer_is_looked_at_before_anything_else_is_decided) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  bool is_told = false;
  cluster_.refuse_after = [&](const std::string& write) -> std::optional<net::HttpResponse> {
    if (is_told || write != "PATCH " + node_path("n1")) return std::nullopt;
    is_told = true;
    return FakeCluster::refusal(504, "Timeout", "it was done all the same");
  };
  lead();
  settle();
  EXPECT_TRUE(is_told);
  EXPECT_TRUE(is_cordoned("n1"));
  clock_.pauses += std::chrono::seconds{5};
  settle();
  EXPECT_THAT(phases(), ElementsAre("held"));
  EXPECT_EQ(count_of("PATCH " + node_path("n1")), 1);
}

TEST_F(RemediationTest, a_pod_nobody_would_make_again_is_left_to_fail) {
  add_pod(kPod, "n1");
  json::object pod = *cluster_.find(kPod);
  pod["metadata"].as_object().erase("ownerReferences");
  cluster_.put(kPod, pod);
  report_failure("r1", "n1");
  lead();
  settle();
  EXPECT_NE(cluster_.find(kPod), nullptr);
  EXPECT_THAT(events(), Contains("PodNotRemoved Pod/train-0"));
}

TEST_F(RemediationTest, an_event_that_can_never_be_written_stops_nothing) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  cluster_.refuse = [](const std::string& write) -> std::optional<net::HttpResponse> {
    if (write.find("/namespaces/ml/events") == std::string::npos) return std::nullopt;
    return FakeCluster::refusal(403, "Forbidden", "the namespace is being terminated");
  };
  lead();
  settle();
  EXPECT_THAT(phases(), ElementsAre("held"));
  EXPECT_EQ(remediation_->figures().executor.events_dropped, 2U) << "about the pod and about its job";
}

TEST_F(RemediationTest, many_reports_of_one_node_are_one_plan) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  report_failure("r2", "n1");
  lead();
  settle();
  EXPECT_THAT(phases(), ElementsAre("held"));
  EXPECT_EQ(phase_of_report("r1"), "Acted");
  EXPECT_EQ(phase_of_report("r2"), "Acted");
}

TEST_F(RemediationTest, nothing_is_decided_before_everything_is_known) {
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  policy_.rules.mode = Mode::act;
  cluster_.hide("nodehealthreports");
  lead();
  settle();
  EXPECT_THAT(cluster_.writes(), IsEmpty());
  EXPECT_THAT(remediation_->figures().problem, HasSubstr("nodehealthreports"));
}

TEST_F(RemediationTest, nothing_is_decided_by_a_picture_that_is_not_followed_any_more) {
  lead();
  settle();
  clock_.time += ClusterSnapshot::kSilence + std::chrono::seconds{1};
  add_pod(kPod, "n1");
  report_failure("r1", "n1");
  settle();
  EXPECT_THAT(cluster_.writes(), IsEmpty());
  EXPECT_THAT(remediation_->figures().problem, HasSubstr("no data for too long"));
  cluster_.bookmark();
  settle();
  EXPECT_THAT(phases(), ElementsAre("held"));
}

TEST_F(RemediationTest, in_act_a_bad_node_is_emptied_and_others_are_asked_for_a_reset) {
  policy_.rules.mode = Mode::act;
  policy_.rules.breaker_nodes = 5;
  add_pod(kPod, "n1");
  let_through(kPod);
  report_incident("n1");
  lead();
  settle();
  EXPECT_EQ(cluster_.find(kPod), nullptr);
  EXPECT_TRUE(is_cordoned("n1"));
  const auto requests = cluster_.all(FakeCluster::kOurs + "remediationrequests");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(FakeCluster::text(*requests[0], {"spec", "action"}), "reset_gpu");
  EXPECT_EQ(FakeCluster::text(*requests[0], {"spec", "subject"}), "gpu/0000:3b:00.0");
}

}  // namespace

}  // namespace autopilot::controller
