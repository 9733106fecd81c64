// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/removals.hpp"

#include "tests/support/controller/planner_fixture.hpp"

namespace autopilot::controller {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

class Gates : public Planner {
 protected:
  Gates() { policy_.rules.mode = Mode::hold; }
};

TEST_F(Gates, a_pod_whose_test_failed_is_moved_and_its_node_held) {
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1", "evict_pod train-0"));
  EXPECT_THAT(events_of(made), IsSupersetOf<testing::Matcher<std::string>>(
                                   {StartsWith("NodeHeld Node/n1: "),
                                    StartsWith("PodMoved Job/train: pod train-0 is moved off node n1: "
                                               "gpu.pcie_bandwidth failed for pod team/train-0: 12 GB/s")}));
  EXPECT_EQ(phase_of("n1-train-0"), ReportPhase::acted);
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::held);
  EXPECT_EQ(node("n1").held->plan, entry_of("n1").name);
}

TEST_F(Gates, a_pod_is_moved_only_where_another_node_may_take_it) {
  add_nodes(4);
  for (const char* name : {"n1", "n2"})
    change(name, [](Node& node) { node.labels["gpu"] = "h100"; });
  change("n3", [](Node& node) { node.labels["gpu"] = "a100"; });
  change("n2", [](Node& node) { node.taints = {{"team-b", "", "NoSchedule", {}}}; });
  Pod pod = add_pod("train-0", "n1", "train", true);
  pod.placement.selector = {{"gpu", "h100"}};
  world_.put(pod);
  put_report(pod);
  const Plan stays = step();
  EXPECT_THAT(steps_of(stays), ElementsAre("cordon n1"));
  EXPECT_THAT(events_of(stays),
              Contains(::testing::AllOf(StartsWith("NoGoodNode Job/train: "),
                                        HasSubstr("n2 (has a taint that the pod does not tolerate), "
                                                  "n3 (does not match the pod's node selector)"))));
  pod.placement.tolerations = {{"team-b", "Exists", "", ""}};
  world_.put(pod);
  const Plan moves = step();
  EXPECT_THAT(steps_of(moves), ElementsAre("evict_pod train-0"));
  EXPECT_THAT(events_of(moves), Contains(HasSubstr("; node n2 is free for it")));
}

TEST_F(Gates, a_pod_that_was_let_in_though_it_failed_stays_and_only_its_node_is_held) {
  add_nodes(4);
  const Pod pod = add_pod("train-0", "n1", "train", true);
  Report report = put_report(pod);
  report.is_let_in = true;
  world_.put(report);
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
}

TEST_F(Gates, in_mode_observe_it_is_told_that_a_pod_that_was_let_in_would_be_moved) {
  policy_.rules.mode = Mode::observe;
  add_nodes(4);
  const Pod pod = add_pod("train-0", "n1", "train", false);
  Report report = put_report(pod);
  report.is_let_in = true;
  world_.put(report);
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("[cordon n1]", "[evict_pod train-0]"));
  EXPECT_THAT(events_of(made), Contains(HasSubstr("WouldMovePod Job/train: ")));
  EXPECT_THAT(
      events_of(made),
      Contains(::testing::AllOf(StartsWith("PreflightFailed Pod/train-0: node n1: gpu.pcie_bandwidth failed"),
                                HasSubstr("the node only reports failures, so the pod starts"))));
}

TEST_F(Gates, whoever_describes_the_pod_sees_why_it_does_not_start) {
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  const Plan made = step();
  EXPECT_THAT(
      events_of(made),
      Contains("PreflightFailed Pod/train-0: node n1: gpu.pcie_bandwidth failed for pod team/train-0: "
               "12 GB/s, 50 expected; the pod does not start there"));
  EXPECT_THAT(events_of(step()), Not(Contains(StartsWith("PreflightFailed")))) << "told once";
  fail_preflight("train-1", "n1", "train");
  EXPECT_THAT(events_of(step()), Contains(StartsWith("PreflightFailed Pod/train-1: ")));
}

TEST_F(Gates, every_action_says_why_by_what_evidence_by_which_plan_and_how_the_budget_stands) {
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  const Plan made = look();
  ASSERT_EQ(made.decisions.size(), 1U);
  for (const PlannedAction& action : made.decisions[0].actions) {
    EXPECT_FALSE(action.why.empty());
    EXPECT_THAT(action.evidence, ElementsAre("n1-train-0"));
    EXPECT_EQ(action.plan, made.decisions[0].entry->name);
    EXPECT_EQ(action.budget, "pool default: 1 of 1 nodes held, rack-0: 1 of 1, last hour: 1 of 6");
  }
  const PlannedAction& cordon = made.decisions[0].actions[0];
  EXPECT_EQ(cordon.undo, "uncordon, after proof of health");
  EXPECT_EQ(cordon.target.version, "1");
  EXPECT_EQ(made.decisions[0].actions[1].target.uid, "uid-n1");
}

TEST_F(Gates, many_reports_of_a_node_are_one_decision) {
  add_nodes(4);
  for (const char* pod : {"a", "b", "c"})
    fail_preflight(pod, "n1", "train");
  const Plan made = step();
  ASSERT_EQ(made.decisions.size(), 1U);
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1", "evict_pod a", "evict_pod b", "evict_pod c"));
  settle();
  fail_preflight("d", "n1", "train");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod d"));
  EXPECT_THAT(world_.plans_on("n1"), testing::SizeIs(1));
  EXPECT_THAT(entry_of("n1").evidence, ElementsAre("n1-a", "n1-b", "n1-c", "n1-d"));
}

TEST_F(Gates, many_reports_of_a_pod_move_it_once) {
  policy_.rules.mode = Mode::act;
  add_nodes(12);
  const Pod pod = add_pod("train-0", "n1", "train", true);
  Report report = put_report(pod);
  report.name += "-again";
  world_.put(report);
  Pod lonely = add_pod("lonely", "n1", "", true);
  lonely.owner.reset();
  world_.put(lonely);
  put_report(lonely);
  turn_bad("n1");
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1", "evict_pod train-0"));
  EXPECT_THAT(events_of(made), testing::UnorderedElementsAre(StartsWith("NodeHeld"), StartsWith("PodMoved"),
                                                             StartsWith("PodNotRemoved"),
                                                             StartsWith("PreflightFailed Pod/train-0"),
                                                             StartsWith("PreflightFailed Pod/lonely")));
}

TEST_F(Gates, a_pod_that_nobody_would_make_again_is_not_removed_and_told_why) {
  add_nodes(4);
  Pod pod = add_pod("lonely", "n1", "", true);
  pod.owner.reset();
  world_.put(pod);
  put_report(pod);
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1"));
  EXPECT_THAT(events_of(made),
              Contains(StartsWith("PodNotRemoved Pod/lonely: no controller would recreate this pod")));
  settle();
  EXPECT_NE(world_.pod("uid-lonely"), nullptr);
}

TEST_F(Gates, what_belongs_to_the_node_itself_is_not_moved) {
  add_nodes(4);
  Pod daemon = add_pod("daemon", "n1", "d", true);
  daemon.owner->kind = "DaemonSet";
  world_.put(daemon);
  put_report(daemon);
  Pod system = add_pod("system", "n1", "s", true);
  system.priority = 2'000'000'000;
  world_.put(system);
  put_report(system);
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
}

TEST_F(Gates, where_all_nodes_are_bad_the_job_waits_and_its_owner_is_told_which) {
  add_nodes(2);
  fail_preflight("train-0", "n1", "train");
  fail_preflight("train-1", "n2", "train");
  const Plan made = step();
  // One of two nodes can be held, and no other node would be better.
  EXPECT_THAT(steps_of(made), ElementsAre("cordon n1"));
  EXPECT_THAT(events_of(made),
              Contains("NoGoodNode Job/train: the pods wait: no suitable node in pool default: n1 "
                       "(gpu.pcie_bandwidth failed), n2 (gpu.pcie_bandwidth failed)"));
  int told = 0;
  for (const std::string& event : events_of(made))
    told += event.starts_with("NoGoodNode") ? 1 : 0;
  EXPECT_EQ(told, 1);
  settle();
  EXPECT_NE(world_.pod("uid-train-0"), nullptr);
  EXPECT_NE(world_.pod("uid-train-1"), nullptr);
  // A later pod gets the same message.
  fail_preflight("other-0", "n2", "other");
  EXPECT_THAT(events_of(step()),
              Contains(HasSubstr("NoGoodNode Job/other: the pods wait: no suitable node in pool default: n1 "
                                 "(gpu.pcie_bandwidth failed), n2 (gpu.")));
  EXPECT_FALSE(node("n2").is_unschedulable);
}

TEST_F(Gates, a_pod_that_waited_is_moved_when_a_node_gets_good) {
  add_nodes(2);
  change("n2", [](Node& node) { node.is_ready = false; });
  fail_preflight("train-0", "n1", "train");
  settle();
  EXPECT_NE(world_.pod("uid-train-0"), nullptr);
  change("n2", [](Node& node) { node.is_ready = true; });
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-0"));
}

TEST_F(Gates, proof_by_a_test_moves_the_pod_though_no_node_may_be_held) {
  add_nodes(8);
  policy_.rules.holds_per_hour = 1;
  fail_preflight("a-0", "n1", "a");
  settle();
  fail_preflight("b-0", "n5", "b");
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("evict_pod b-0"));
  EXPECT_THAT(events_of(made),
              Contains(StartsWith("NodeNotHeld Node/n5: not held: 1 of 1 allowed nodes of pool default")));
  EXPECT_EQ(entry_of("n5").phase, Phase::waiting);
}

TEST_F(Gates, a_node_that_is_not_held_does_not_get_pods_back_for_ever) {
  add_nodes(8);
  fail_preflight("a-0", "n1", "a");
  settle();
  int moved = 0;
  for (int i = 0; i < 10; ++i) {
    later(1min);
    fail_preflight("b-" + std::to_string(i), "n5", "b");
    for (const std::string& text : steps_of(step()))
      moved += text.starts_with("evict_pod") ? 1 : 0;
  }
  EXPECT_EQ(moved, kMovesPerHour);
}

TEST_F(Gates, deschedule_alone_does_nothing) {
  add_nodes(4);
  Pod pod = add_pod("train-0", "n1", "train");
  pod.has_deschedule = true;
  world_.put(pod);
  EXPECT_THAT(look().decisions, IsEmpty());
  // The report of another pod does not suffice either.
  fail_preflight("other", "n1", "other");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1", "evict_pod other"));
}

TEST_F(Gates, deschedule_with_a_report_about_the_pod_moves_it_though_it_runs) {
  add_nodes(4);
  Pod pod = add_pod("train-0", "n1", "train");
  put_report(pod);
  EXPECT_THAT(steps_of(look()), ElementsAre("cordon n1"));
  pod.has_deschedule = true;
  world_.put(pod);
  EXPECT_THAT(steps_of(look()), ElementsAre("cordon n1", "evict_pod train-0"));
}

TEST_F(Gates, an_old_report_proves_nothing) {
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  later(policy_.rules.report_age + 1s);
  const Plan made = step();
  EXPECT_THAT(steps_of(made), IsEmpty());
  EXPECT_EQ(phase_of("n1-train-0"), ReportPhase::expired);
}

TEST_F(Gates, a_test_that_passed_since_takes_a_report_back) {
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  later(1min);
  pass("n1", kTest);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(phase_of("n1-train-0"), ReportPhase::expired);
}

TEST_F(Gates, what_could_not_be_tested_is_told_and_nothing_else) {
  add_nodes(4);
  put_report(add_pod("train-0", "n1", "train", true), Outcome::could_not_look);
  put_report(add_pod("train-1", "n2", "train"), Outcome::started);
  const Plan made = step();
  EXPECT_THAT(steps_of(made), IsEmpty());
  EXPECT_THAT(
      events_of(made),
      ElementsAre(
          "PreflightNotTested Pod/train-0: the pre-flight test of pod train-0 on node n1 could not run, "
          "and the pod starts",
          HasSubstr("PreflightNotTested Job/train"), HasSubstr("PreflightNotWaitedFor Pod/train-1"),
          HasSubstr("PreflightNotWaitedFor Job/train")));
  EXPECT_THAT(look().decisions, IsEmpty());
}

TEST_F(Gates, by_policy_what_could_not_be_tested_does_not_start) {
  policy_.rules.could_not_look = CouldNotLook::stop;
  add_nodes(4);
  put_report(add_pod("train-0", "n1", "train", true), Outcome::could_not_look);
  const Plan made = look();
  EXPECT_THAT(steps_of(made), IsEmpty());
  EXPECT_THAT(events_of(made), Contains(HasSubstr("and the pod does not start")));
}

TEST_F(Gates, a_pod_is_deleted_only_where_the_policy_says_so) {
  policy_.rules.deletes_pods = true;
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  EXPECT_THAT(steps_of(look()), ElementsAre("cordon n1", "delete_pod train-0"));
}

TEST_F(Gates, a_pod_that_is_going_is_left_alone) {
  add_nodes(4);
  Pod pod = add_pod("train-0", "n1", "train", true);
  put_report(pod);
  pod.is_deleting = true;
  world_.put(pod);
  EXPECT_THAT(steps_of(look()), ElementsAre("cordon n1"));
}

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
  // A day later it no longer counts, although the node is still held.
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
  EXPECT_THAT(
      events_of(made),
      Contains(HasSubstr("PodNotMoved Job/train: pod p-n5 stays on node n5 although the node failed: pods of "
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
  // The request was sent and its response lost, with an unknown result.
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
  // The previous leader crashed after writing the plan, or its cordon was refused.
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
