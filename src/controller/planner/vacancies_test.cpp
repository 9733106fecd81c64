// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/vacancies.hpp"

#include <gtest/gtest.h>
#include <string>

#include "controller/planner/planner_fixture.hpp"

namespace autopilot::controller {
namespace {

// The Job train, as the world sees its pods come and go.
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

// Its owner may want fewer.
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

}  // namespace
}  // namespace autopilot::controller
