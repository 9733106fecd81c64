// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/evictions.hpp"

#include "controller/planner/planner_fixture.hpp"

namespace autopilot::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Evictions : public Planner {};

TEST_F(Evictions, running_pods_are_moved_off_an_evict_node_after_its_cordon) {
  add_nodes(12);
  add_pod("train-0", "n1", "train");
  turn_bad("n1");
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1", "evict_pod train-0"));
  EXPECT_THAT(events_of(made),
              Contains(StartsWith("PodMoved Job/train: pod train-0 is moved off node n1: verdict EVICT: "
                                  "nvlink_fatal blames gpu/0000:3b:00.0")));
}

TEST_F(Evictions, in_mode_hold_no_running_pod_is_moved) {
  policy_.rules.mode = Mode::hold;
  add_nodes(12);
  add_pod("running", "n1", "r");
  fail_preflight("train-0", "n1", "train");
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1", "evict_pod train-0"));
  settle();
  EXPECT_NE(world_.pod("uid-running"), nullptr);
}

TEST_F(Evictions, a_failed_test_of_one_pod_moves_no_other) {
  add_nodes(12);
  add_pod("running", "n1", "r");
  fail_preflight("train-0", "n1", "train");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1", "evict_pod train-0"));
}

TEST_F(Evictions, a_node_that_may_not_be_held_keeps_its_pods) {
  add_nodes(4);
  turn_bad("n1", "a");
  settle();
  add_pod("train-0", "n2", "train");
  turn_bad("n2", "b");
  EXPECT_THAT(steps_of(step()), IsEmpty());
}

TEST_F(Evictions, pods_leave_a_node_that_somebody_else_cordoned) {
  add_nodes(4);
  add_pod("train-0", "n1", "train");
  change("n1", [](Node& node) { node.is_unschedulable = true; });
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-0"));
}

TEST_F(Evictions, those_of_low_priority_go_first_and_the_rate_is_kept) {
  policy_.rules.evictions_per_hour = 2;
  add_nodes(12);
  for (const char* name : {"a", "b", "c"}) {
    Pod pod = add_pod(name, "n1", name);
    pod.gpus = 2;
    pod.priority = name[0] == 'a' ? 100 : 0;
    world_.put(pod);
  }
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1", "evict_pod b", "evict_pod c"));
  const Plan full = step();
  EXPECT_THAT(steps_of(full), IsEmpty());
  EXPECT_EQ(full.next, now_ + 1h);
  later(1h);
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod a"));
}

TEST_F(Evictions, pods_without_gpus_or_of_the_node_itself_stay) {
  add_nodes(12);
  Pod cpu = add_pod("cpu", "n1", "c");
  cpu.gpus = 0;
  world_.put(cpu);
  Pod daemon = add_pod("daemon", "n1", "d");
  daemon.owner->kind = "DaemonSet";
  world_.put(daemon);
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::held);
}

TEST_F(Evictions, a_running_pod_that_nobody_would_make_again_stays_and_is_told_why) {
  add_nodes(12);
  Pod pod = add_pod("lonely", "n1", "");
  pod.owner.reset();
  world_.put(pod);
  turn_bad("n1");
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1"));
  EXPECT_THAT(events_of(made), Contains(StartsWith("PodNotRemoved Pod/lonely: ")));
}

TEST_F(Evictions, one_job_does_not_lose_many_nodes_at_once) {
  add_nodes(80);
  for (const char* name : {"n1", "n5", "n9"}) {
    add_pod(std::string("p-") + name, name, "train");
    turn_bad(name, std::string("cause-of-") + name);
  }
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1", "evict_pod p-n1", "cordon n5", "cordon n9"));
  EXPECT_THAT(steps_of(look()), testing::Not(Contains("evict_pod p-n5")));
  // A day later it counts no more, though the node is still held.
  later(24h + 1s);
  EXPECT_THAT(steps_of(step()), Contains("evict_pod p-n5"));
}

TEST_F(Evictions, a_job_that_lost_a_node_is_left_in_peace_for_a_while) {
  policy_.rules.job_percent = 100;
  add_nodes(80);
  add_pod("p-n9", "n9", "train");
  for (const char* name : {"n1", "n5"}) {
    add_pod(std::string("p-") + name, name, "train");
    turn_bad(name, std::string("cause-of-") + name);
  }
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1", "evict_pod p-n1", "cordon n5"));
  EXPECT_THAT(events_of(made),
              Contains(HasSubstr("PodNotMoved Job/train: pod p-n5 stays on node n5 though it is bad: pods of "
                                 "its job were moved off node n1 within the last 6h")));
  later(5h);
  EXPECT_THAT(steps_of(step()), testing::Not(Contains("evict_pod p-n5")));
  later(1h);
  EXPECT_THAT(steps_of(step()), Contains("evict_pod p-n5"));
}

TEST_F(Evictions, an_eviction_that_was_refused_is_asked_for_again) {
  add_nodes(12);
  add_pod("train-0", "n1", "train");
  turn_bad("n1");
  const Pod pod = *world_.pod("uid-train-0");
  step();
  world_.put(pod);
  const Plan waits = step();
  EXPECT_THAT(steps_of(waits), IsEmpty());
  EXPECT_EQ(waits.next, now_ + 1min);
  later(1min);
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-0"));
}

TEST_F(Evictions, an_eviction_counts_before_it_is_asked_for_and_once) {
  policy_.rules.evictions_per_hour = 1;
  add_nodes(12);
  for (const char* name : {"a", "b"}) {
    Pod pod = add_pod(name, "n1", name);
    pod.gpus = 4;
    world_.put(pod);
  }
  turn_bad("n1");
  // It was asked, and the answer was lost, whatever became of it.
  LedgerEntry entry = *look().decisions.at(0).entry;
  note_done(entry, {.kind = ActionKind::evict_pod, .target = "uid-a", .at = now_, .is_counted = true});
  world_.put(entry);
  change("n1", [&](Node& node) {
    node.is_unschedulable = true;
    node.held = Hold{.plan = entry_of("n1").name, .since = now_};
  });
  later(1min);
  EXPECT_THAT(steps_of(look()), ElementsAre("evict_pod a"));
  world_.remove_pod("uid-a");
  EXPECT_THAT(steps_of(look()), IsEmpty());
}

TEST_F(Evictions, a_pod_that_was_not_asked_yet_is_asked_at_once) {
  add_nodes(12);
  add_pod("train-0", "n1", "train");
  turn_bad("n1");
  // Whoever led died after the plan was written, or its cordon was refused.
  world_.put(*look().decisions.at(0).entry);
  EXPECT_THAT(steps_of(look()), ElementsAre("cordon n1", "evict_pod train-0"));
}

TEST_F(Evictions, a_spare_of_the_same_failure_domain_is_named_first) {
  add_nodes(12);
  for (const char* name : {"n6", "n7"})
    add_pod(std::string("busy-") + name, name, name);
  add_pod("train-0", "n5", "train");
  turn_bad("n5");
  step();
  EXPECT_EQ(entry_of("n5").spare, "n8");
  EXPECT_EQ(node("n8").domain, node("n5").domain);
}

TEST_F(Evictions, by_policy_any_spare_is_as_good) {
  policy_.rules.prefers_same_domain = false;
  add_nodes(12);
  add_pod("train-0", "n5", "train");
  turn_bad("n5");
  step();
  EXPECT_EQ(entry_of("n5").spare, "n1");
}

TEST_F(Evictions, a_spare_is_healthy_free_and_rather_not_on_probation) {
  add_nodes(6);
  change("n1", [](Node& node) { node.is_ready = false; });
  change("n2", [](Node& node) { node.is_unschedulable = true; });
  change("n3", [](Node& node) { node.verdict = Verdict::none; });
  change("n4", [&](Node& node) {
    node.probation = Probation{.plan = "x", .until = now_ + 24h, .next = now_ + 24h};
  });
  policy_.rules.prefers_same_domain = false;
  add_pod("train-0", "n6", "train");
  turn_bad("n6");
  EXPECT_EQ(look().decisions.at(0).entry->spare, "n5");
  add_pod("busy", "n5", "busy");
  EXPECT_EQ(look().decisions.at(0).entry->spare, "n4");
}

TEST_F(Evictions, by_policy_running_pods_wait_for_a_spare) {
  policy_.rules.needs_spare = true;
  add_nodes(2);
  add_pod("busy", "n2", "busy");
  add_pod("train-0", "n1", "train");
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
  const Plan waits = step();
  EXPECT_THAT(steps_of(waits), IsEmpty());
  EXPECT_THAT(entry_of("n1").message, HasSubstr("no node is free"));
  EXPECT_EQ(waits.next, now_ + 1min);
  world_.remove_pod("uid-busy");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-0"));
}

}  // namespace
}  // namespace autopilot::controller
