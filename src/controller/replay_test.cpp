// SPDX-License-Identifier: Apache-2.0

#include "controller/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::controller {

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string problem_of(std::string_view line) {
  const auto event = parse_history_event(line);
  EXPECT_FALSE(event.has_value()) << line;
  return event ? "" : event.error().what;
}

class Replaying : public ::testing::Test {
 protected:
  Replaying() { policy_.rules.mode = Mode::act; }

  // "00:00 cordon n1", without Events and marks.
  std::vector<std::string> replay(const std::vector<std::string>& lines) {
    std::vector<std::string> steps;
    Replay replay(policy_, [&](WallTime time, const Plan& plan) {
      for (const Decision& decision : plan.decisions)
        for (const PlannedAction& action : decision.actions)
          if (action.kind != ActionKind::event && action.kind != ActionKind::mark_report)
            steps.push_back(format_time(time).substr(8, 8) + ' ' + std::string(to_string(action.kind)) + ' ' +
                            action.target.name + (action.is_recorded_only ? " (recorded)" : ""));
    });
    for (const std::string& line : lines) {
      const auto event = parse_history_event(line);
      EXPECT_TRUE(event.has_value()) << line << ": " << (event ? "" : event.error().what);
      if (!event) return steps;
      const Status taken = replay.take(*event);
      EXPECT_TRUE(taken.has_value()) << line << ": " << (taken ? "" : taken.error().what);
    }
    EXPECT_TRUE(replay.finish().has_value());
    return steps;
  }
  static std::string at(const std::string& time, const std::string& rest) {
    return R"({"time": "2026-11-)" + time + R"(:00Z")" + (rest.empty() ? "" : ", " + rest) + "}";
  }
  static std::vector<std::string> nodes(int count) {
    std::vector<std::string> lines;
    for (int i = 1; i <= count; ++i)
      lines.push_back(at("01T00:00", R"("node": {"name": "n)" + std::to_string(i) + R"("})"));
    return lines;
  }

  Policy policy_;
};

TEST(History, every_member_is_read) {
  const auto event = parse_history_event(R"({"time": "2026-11-21T03:04:05Z",
    "node": {"name": "n1", "labels": {"a": "b"}, "domain": "r1", "gpus": 4, "ready": false, "unschedulable": true,
             "verdict": "EVICT", "unknown": true, "silent": true, "wantsTest": true, "passed": ["gpu.diagnosis"],
             "causes": [{"incident": "i1", "cause": "nvlink_fatal", "blamed": "gpu/0", "action": "reset_gpu",
                         "since": "2026-11-21T03:00:00Z", "byTest": true}]},
    "pod": {"uid": "u", "namespace": "team", "name": "p", "node": "n1", "gpus": 8, "priority": 5, "gated": true,
            "deleting": true, "deschedule": true, "owner": {"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "ju"}},
    "report": {"name": "r", "node": "n1", "namespace": "team", "pod": "p", "podUid": "u", "outcome": "failed",
               "failed": [{"test": "t", "reason": "slow", "message": "m"}], "message": "x"},
    "removedNode": "n2", "removedPod": "u2"})");
  ASSERT_TRUE(event.has_value()) << event.error().what;
  EXPECT_EQ(event->node->labels, (Labels{{"a", "b"}}));
  EXPECT_EQ(event->node->verdict, Verdict::evict);
  ASSERT_EQ(event->node->causes->size(), 1U);
  EXPECT_EQ(event->node->causes->front().action, Action::reset_gpu);
  EXPECT_FALSE(event->node->causes->front().is_passive);
  EXPECT_EQ(event->pod->owner->uid, "ju");
  EXPECT_EQ(event->report->failed.front().test, "t");
  EXPECT_EQ(event->report->time, event->time);
  EXPECT_EQ(event->removed_pod, "u2");
}

TEST(History, what_is_wrong_with_a_line_is_named) {
  EXPECT_THAT(problem_of(""), Not(IsEmpty()));
  EXPECT_THAT(problem_of("[]"), Not(IsEmpty()));
  EXPECT_THAT(problem_of("{\"time\": \"2026-11-21T03:04:05Z\""), Not(IsEmpty()));
  EXPECT_THAT(problem_of(std::string("{\"time\": \0}", 11)), Not(IsEmpty()));
  EXPECT_THAT(problem_of("{}"), HasSubstr("time"));
  EXPECT_THAT(problem_of(R"({"time": "yesterday"})"), HasSubstr("time"));
  EXPECT_THAT(problem_of(R"({"time": "2026-11-21T03:04:05Z", "nodes": []})"), HasSubstr("nodes"));
  EXPECT_THAT(problem_of(R"({"time": "2026-11-21T03:04:05Z", "node": {"name": "n", "verdict": "BAD"}})"),
              HasSubstr("node.verdict"));
  EXPECT_THAT(problem_of(R"({"time": "2026-11-21T03:04:05Z", "node": {"gpus": 1}})"), HasSubstr("node.name"));
  EXPECT_THAT(problem_of(R"({"time": "2026-11-21T03:04:05Z", "pod": {"uid": "u", "gated": "yes"}})"),
              HasSubstr("pod.gated"));
}

TEST_F(Replaying, a_failed_test_moves_the_pod_and_its_pass_gives_the_node_back) {
  auto lines = nodes(4);
  lines.push_back(at("01T01:00", R"("pod": {"uid": "u", "name": "p", "node": "n1", "gpus": 8, "gated": true,
                                   "owner": {"kind": "Job", "name": "j", "uid": "ju"}})"));
  lines.push_back(
      at("01T01:01", R"("report": {"name": "r", "node": "n1", "pod": "p", "podUid": "u", "outcome": "failed",
                                   "failed": [{"test": "gpu.pcie_bandwidth"}]})"));
  lines.push_back(at("01T03:30", R"("node": {"name": "n1", "passed": ["gpu.pcie_bandwidth"]})"));
  EXPECT_THAT(replay(lines),
              ElementsAre("01T01:01 cordon n1", "01T01:01 evict_pod p", "01T01:01 deep_test n1",
                          "01T02:01 deep_test n1", "01T03:01 deep_test n1", "01T03:30 taint n1",
                          "01T03:30 uncordon n1"));
}

TEST_F(Replaying, another_policy_does_something_else_with_the_same_history) {
  policy_.rules.mode = Mode::observe;
  auto lines = nodes(4);
  lines.push_back(at("01T01:00",
                     R"("node": {"name": "n1", "verdict": "EVICT", "causes": [{"incident": "i", "cause": "c",
                         "since": "2026-11-01T00:59:00Z"}]})"));
  EXPECT_THAT(replay(lines), ElementsAre("01T01:00 cordon n1 (recorded)"));
}

TEST_F(Replaying, a_silent_agent_brakes_and_one_that_is_only_not_mentioned_does_not) {
  auto lines = nodes(4);
  lines.push_back(at("02T00:00", R"("node": {"name": "n1", "silent": true})"));
  lines.push_back(
      at("02T02:00",
         R"("node": {"name": "n1", "verdict": "EVICT", "causes": [{"incident": "i", "cause": "c"}]})"));
  lines.push_back(at("02T03:00",
                     R"("node": {"name": "n2", "verdict": "EVICT", "causes": [{"incident": "k", "cause": "d",
                         "since": "2026-11-02T02:59:00Z"}]})"));
  EXPECT_THAT(replay(lines), ElementsAre("02T03:00 cordon n2"));
}

TEST_F(Replaying, a_pod_that_was_moved_stays_away) {
  auto lines = nodes(12);
  const std::string owner = R"("owner": {"kind": "Job", "name": "j", "uid": "ju"})";
  lines.push_back(
      at("01T01:00", R"("pod": {"uid": "u", "name": "p", "node": "n1", "gpus": 8, )" + owner + "}"));
  lines.push_back(
      at("01T02:00",
         R"("node": {"name": "n1", "verdict": "EVICT", "causes": [{"incident": "i", "cause": "c"}]})"));
  lines.push_back(at("01T03:00", R"("pod": {"uid": "u", "gpus": 8, )" + owner + "}"));
  EXPECT_THAT(replay(lines), ElementsAre("01T02:01 cordon n1", "01T02:01 evict_pod p"));
}

TEST_F(Replaying, what_is_due_between_two_events_is_done_when_it_is_due) {
  auto lines = nodes(4);
  lines.push_back(
      at("01T01:00",
         R"("node": {"name": "n1", "verdict": "EVICT", "causes": [{"incident": "i", "cause": "c"}]})"));
  lines.push_back(at(
      "01T02:00", R"("node": {"name": "n1", "verdict": "PASS", "causes": [], "passed": ["gpu.diagnosis"]})"));
  lines.push_back(at("02T12:00", ""));
  const auto steps = replay(lines);
  EXPECT_THAT(steps, testing::Contains("02T02:00 deep_test n1"));
  EXPECT_THAT(steps, testing::Contains("02T03:00 deep_test n1"));
}

TEST_F(Replaying, time_does_not_go_back) {
  Replay replay(policy_, [](WallTime, const Plan&) {});
  ASSERT_TRUE(replay.take(*parse_history_event(at("02T00:00", ""))).has_value());
  const Status back = replay.take(*parse_history_event(at("01T00:00", "")));
  ASSERT_FALSE(back.has_value());
  EXPECT_EQ(back.error().code, Errc::malformed);
}

TEST_F(Replaying, it_ends_though_the_history_is_long) {
  policy_.rules.test_every = 1s;
  Replay replay(
      policy_, [](WallTime, const Plan&) {}, 100);
  for (const std::string& line : nodes(4))
    ASSERT_TRUE(replay.take(*parse_history_event(line)).has_value());
  const auto bad = at(
      "01T01:00", R"("report": {"name": "r", "node": "n1", "pod": "p", "podUid": "u", "outcome": "failed"})");
  ASSERT_TRUE(replay.take(*parse_history_event(bad)).has_value());
  const Status taken = replay.take(*parse_history_event(at("20T00:00", "")));
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, Errc::exhausted);
}

}  // namespace

}  // namespace autopilot::controller
