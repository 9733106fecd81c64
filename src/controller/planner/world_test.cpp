// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "tests/support/controller/planner_fixture.hpp"

namespace autopilot::controller {

namespace {

// The Job train, with pods that come and go.
class VacanciesTest : public Planner {
 protected:
  void gated(const std::string& name, const std::string& on) { add_pod(name, on, "train", true); }
  void leave(const std::string& name) { world_.remove_pod("uid-" + name); }
  // Its test fails, and it is moved.
  void move(const std::string& name) {
    put_report(*world_.pod("uid-" + name));
    leave(name);
  }
  void begin(const std::string& name) {
    Pod pod = *world_.pod("uid-" + name);
    pod.is_gated = false;
    world_.put(pod);
  }
  void mark_deleted(const std::string& name) {
    Pod pod = *world_.pod("uid-" + name);
    pod.is_deleting = true;
    world_.put(pod);
  }
  std::size_t vacant() { return world_.vacancies().of("team/uid-train"); }
};

TEST_F(VacanciesTest, nobody_is_missed_where_nobody_left) {
  gated("train-0", "");
  gated("train-0", "n1");
  gated("train-1", "n2");
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, who_leaves_its_gate_is_missed_until_the_next_one_has_a_node) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  put_report(*world_.pod("uid-train-1"));
  mark_deleted("train-1");
  EXPECT_EQ(vacant(), 1U);
  gated("train-2", "");
  EXPECT_EQ(vacant(), 1U);
  leave("train-1");
  EXPECT_EQ(vacant(), 1U);
  gated("train-2", "n3");
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, one_that_was_made_before_comes_after_nobody) {
  gated("train-0", "n1");
  gated("train-1", "");
  move("train-0");
  gated("train-1", "n2");
  EXPECT_EQ(vacant(), 1U);
  gated("train-2", "n3");
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, who_came_after_another_and_leaves_as_well_leaves_one_place) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  move("train-1");
  gated("train-2", "");
  leave("train-2");
  EXPECT_EQ(vacant(), 1U);
  gated("train-3", "n3");
  EXPECT_EQ(vacant(), 0U);
  move("train-3");
  EXPECT_EQ(vacant(), 1U);
}

TEST_F(VacanciesTest, one_that_never_had_a_node_is_not_missed) {
  gated("train-0", "n1");
  gated("train-1", "");
  leave("train-1");
  EXPECT_EQ(vacant(), 0U);
}

// Its owner can reduce the number of pods.
TEST_F(VacanciesTest, nor_one_that_somebody_took_away) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  leave("train-1");
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, labels_that_go_leave_nothing_behind) {
  const auto put = [this](const std::string& name, const std::string& on, bool is_in_set) {
    Pod pod = add_pod(name, on, "train", true);
    world_.remove_pod(pod.uid);
    if (is_in_set) pod.set = job("set");
    world_.put(pod);
  };
  put("train-0", "n1", true);
  put("train-1", "n2", true);
  move("train-1");
  EXPECT_EQ(world_.vacancies().of("team/uid-set"), 1U);
  Pod pod = *world_.pod("uid-train-0");
  pod.set.reset();
  world_.put(pod);
  EXPECT_EQ(world_.vacancies().of("team/uid-set"), 0U);
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, nor_one_that_has_begun_and_ended) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  begin("train-1");
  leave("train-1");
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, once_one_has_begun_who_was_lost_before_is_missed_no_more) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  move("train-1");
  begin("train-0");
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, a_job_whose_pods_are_all_gone_leaves_nothing) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  move("train-0");
  move("train-1");
  EXPECT_EQ(vacant(), 0U);
}

TEST_F(VacanciesTest, each_namespace_and_job_has_its_own) {
  gated("train-0", "n1");
  gated("train-1", "n2");
  Pod foreign = *world_.pod("uid-train-1");
  foreign.uid = "uid-foreign";
  foreign.name_space = "elsewhere";
  world_.put(foreign);
  move("foreign");
  add_pod("other-0", "n3", "other", true);
  move("other-0");
  EXPECT_EQ(vacant(), 0U);
}

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Node node(const std::string& name, const std::string& domain = "rack-1") {
  Node node;
  node.name = name;
  node.pool = "default";
  node.domain = domain;
  node.gpus = 8;
  node.verdict = Verdict::pass;
  return node;
}

Pod pod(const std::string& uid, const std::string& on) {
  Pod pod;
  pod.uid = uid;
  pod.node = on;
  pod.owner = Owner{.api_version = "batch/v1", .kind = "Job", .name = "train", .uid = "j1"};
  return pod;
}

Report report(const std::string& name, const std::string& on) {
  Report report;
  report.name = name;
  report.node = on;
  return report;
}

LedgerEntry entry(const std::string& name, const std::string& on, Phase phase) {
  LedgerEntry entry;
  entry.name = name;
  entry.node = on;
  entry.phase = phase;
  return entry;
}

TEST(World, a_quiet_node_concerns_nobody) {
  World world;
  world.put(node("a"));
  EXPECT_THAT(world.of_concern(), IsEmpty());
  EXPECT_FALSE(world.put(pod("p", "a")));
  EXPECT_THAT(world.pods_on("a"), ElementsAre("p"));
}

TEST(World, a_quiet_node_matters_when_it_gets_better_or_worse_for_others) {
  World world;
  EXPECT_TRUE(world.put(node("a")));
  Node same = node("a");
  same.version = "2";
  same.passed["gpu.pcie_bandwidth"] = WallTime{5s};
  EXPECT_FALSE(world.put(same));
  same.is_ready = false;
  EXPECT_TRUE(world.put(same));
}

TEST(World, what_may_need_a_decision_is_of_concern_and_no_longer) {
  World world;
  Node evict = node("evict");
  evict.verdict = Verdict::evict;
  Node held = node("held");
  held.held = Hold{.plan = "x", .since = {}};
  Node probation = node("probation");
  probation.probation = Probation{};
  Node asks = node("asks");
  asks.wants_test = WallTime{};
  Node cpu = evict;
  cpu.name = "cpu";
  cpu.gpus = 0;
  for (const Node& one : {evict, held, probation, asks, cpu, node("planned"), node("reported")})
    world.put(one);
  world.put(entry("plan", "planned", Phase::waiting));
  world.put(report("report", "reported"));
  EXPECT_THAT(world.of_concern(), ElementsAre("asks", "evict", "held", "planned", "probation", "reported"));

  for (const char* name : {"asks", "evict", "held", "probation"})
    world.put(node(name));
  world.put(entry("plan", "planned", Phase::over));
  Report handled = report("report", "reported");
  handled.phase = ReportPhase::acted;
  world.put(handled);
  EXPECT_THAT(world.of_concern(), IsEmpty());
}

TEST(World, a_plan_of_a_node_that_is_gone_is_of_concern) {
  World world;
  world.put(node("a"));
  world.put(entry("plan", "a", Phase::held));
  EXPECT_TRUE(world.remove_node("a"));
  EXPECT_THAT(world.of_concern(), ElementsAre("a"));
  EXPECT_TRUE(world.remove_entry("plan"));
  EXPECT_THAT(world.of_concern(), IsEmpty());
}

TEST(World, a_node_that_moves_is_in_one_pool_and_one_domain) {
  World world;
  world.put(node("a", "rack-1"));
  world.put(node("b", "rack-1"));
  Node moved = node("a", "rack-2");
  moved.pool = "other";
  world.put(moved);
  EXPECT_THAT(world.in_domain("rack-1"), ElementsAre("b"));
  EXPECT_THAT(world.in_domain("rack-2"), ElementsAre("a"));
  EXPECT_THAT(world.in_pool("default"), ElementsAre("b"));
  EXPECT_THAT(world.in_pool("other"), ElementsAre("a"));
}

TEST(World, a_pod_that_is_placed_is_known_on_its_node) {
  World world;
  world.put(pod("p", ""));
  EXPECT_THAT(world.pods_of("j1"), ElementsAre("p"));
  world.put(pod("p", "a"));
  EXPECT_THAT(world.pods_on("a"), ElementsAre("p"));
  world.remove_pod("p");
  EXPECT_THAT(world.pods_on("a"), IsEmpty());
  EXPECT_THAT(world.pods_of("j1"), IsEmpty());
}

TEST(World, a_look_without_news_only_moves_its_time) {
  World world;
  world.put(node("a"));
  world.note_report("a", WallTime{5s});
  EXPECT_EQ(world.node("a")->looked, WallTime{5s});
  world.note_report("nobody", WallTime{5s});
}

class WorldAfterChanges : public testing::TestWithParam<unsigned> {};

// Any order of changes leads to the same world as its final objects.
TEST_P(WorldAfterChanges, keeps_beside_the_objects_what_a_new_picture_would_have) {
  std::mt19937 random(GetParam());
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  const auto name = [&](const char* prefix) { return prefix + std::to_string(below(6)); };
  World world;
  for (int step = 0; step < 4000; ++step) {
    switch (below(8)) {
      case 0: {
        Node one = node(name("n"), name("rack"));
        one.gpus = below(2) * 8;
        if (below(4) == 0) one.verdict = Verdict::evict;
        world.put(one);
        break;
      }
      case 1:
        world.put(pod(name("p"), name("n")));
        break;
      case 2: {
        Report one = report(name("r"), name("n"));
        one.phase = below(2) == 0 ? ReportPhase::pending : ReportPhase::acted;
        world.put(one);
        break;
      }
      case 3: {
        LedgerEntry one = entry(name("e"), name("n"), below(2) == 0 ? Phase::held : Phase::over);
        one.updated = WallTime{std::chrono::seconds(below(100))};
        world.put(one);
        break;
      }
      case 4:
        world.remove_node(name("n"));
        break;
      case 5:
        world.remove_pod(name("p"));
        break;
      case 6:
        world.remove_report(name("r"));
        break;
      default:
        world.remove_entry(name("e"));
        break;
    }
    World anew;
    for (int i = 0; i < 6; ++i) {
      const std::string number = std::to_string(i);
      if (const auto* one = world.node("n" + number)) anew.put(*one);
      if (const auto* one = world.pod("p" + number)) anew.put(*one);
      if (const auto* one = world.report("r" + number)) anew.put(*one);
      if (const auto* one = world.entry("e" + number)) anew.put(*one);
    }
    ASSERT_EQ(world.of_concern(), anew.of_concern()) << step;
    ASSERT_EQ(world.open_plans(), anew.open_plans()) << step;
    ASSERT_EQ(world.pending_reports(), anew.pending_reports()) << step;
    ASSERT_EQ(world.plans_by_change(), anew.plans_by_change()) << step;
    ASSERT_EQ(world.in_pool("default"), anew.in_pool("default")) << step;
    for (int i = 0; i < 6; ++i) {
      const std::string number = std::to_string(i);
      ASSERT_EQ(world.in_domain("rack" + number), anew.in_domain("rack" + number)) << step;
      ASSERT_EQ(world.pods_on("n" + number), anew.pods_on("n" + number)) << step;
      ASSERT_EQ(world.reports_on("n" + number), anew.reports_on("n" + number)) << step;
      ASSERT_EQ(world.plans_on("n" + number), anew.plans_on("n" + number)) << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorldAfterChanges, testing::Values(7U, 8U, 9U));

}  // namespace

}  // namespace autopilot::controller
