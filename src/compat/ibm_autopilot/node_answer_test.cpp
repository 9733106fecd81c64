// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/node_answer.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace autopilot::compat::ibm_autopilot {
namespace {

NodeSnapshot node() {
  NodeSnapshot snapshot;
  snapshot.node = "node-a";
  CheckResult& result = snapshot.results.emplace_back();
  result.check = "gpu.row_remap";
  Observation reading;
  reading.name = "row_remap.pending";
  reading.subject = {SubjectKind::gpu, "0000:10:00.0", 0, "", ""};
  reading.value = true;
  result.observations = Observations{reading};
  CheckResult& deep = snapshot.results.emplace_back();
  deep.check = "gpu.diagnosis";
  Observation outcome;
  outcome.name = "deep_test.outcome";
  outcome.value = "passed";
  outcome.attributes = {{"finished", "2026-11-22T13:05:09Z"}};
  deep.observations = Observations{outcome};
  return snapshot;
}

TEST(NodeAnswer, no_text_runs_into_the_next) {
  NodeSnapshot snapshot = node();
  CheckResult& pvc = snapshot.results.emplace_back();
  pvc.check = "storage.pvc";
  Observation outcome;
  outcome.name = "pvc.outcome";
  outcome.value = "not_bound";
  pvc.observations = Observations{outcome};
  snapshot.results.emplace_back().check = "gpu.throttle";
  const auto answers = answers_of({"pvc", "gpupower"}, snapshot);
  EXPECT_TRUE(to_text(answers, snapshot).starts_with("[PVC Create-Delete] FAIL\n[[GPU POWER]] ABORT\n"));
  EXPECT_NE(to_json(answers, snapshot).find(R"(["PVC Create-Delete Test Failed","GPU POWER Failed"])"),
            std::string::npos);
}

TEST(NodeAnswer, the_first_text_does_not_run_into_the_words_of_the_path) {
  EXPECT_EQ(to_text(answers_of({"nic"}, node()), node(), "DCGM test"), "DCGM test\ncheck not supported: nic");
  const std::string with_head = to_text(answers_of({"remapped"}, node()), node(), "Remapped test");
  EXPECT_TRUE(with_head.starts_with("Remapped test\n[[ REMAPPED ROWS ]] Briefings")) << with_head;
}

TEST(NodeAnswer, nothing_that_passed_is_not_ok) {
  const NodeSnapshot snapshot = node();
  EXPECT_NE(to_json(answers_of({"nic"}, snapshot), snapshot).find(R"("statuses":[])"), std::string::npos);
}

TEST(NodeAnswer, the_texts_follow_each_other_with_nothing_between_them) {
  const NodeSnapshot snapshot = node();
  const auto answers = answers_of({"nic", "remapped", ""}, snapshot);
  EXPECT_EQ(to_text(answers, snapshot),
            "check not supported: nic\n"
            "[[ REMAPPED ROWS ]] Briefings completed. Continue with remapped rows evaluation.\n"
            "[[ REMAPPED ROWS ]] FAIL\nHost  node-a\nDetected NVIDIA GPU: 0 Total: 1\nFAIL\n1\n"
            "check not supported: ");
}

TEST(NodeAnswer, a_machine_that_does_not_exist_says_so) {
  NodeSnapshot snapshot = node();
  snapshot.simulated = true;
  EXPECT_EQ(to_text(answers_of({"nic"}, snapshot), snapshot), "SIMULATED\ncheck not supported: nic");
}

TEST(NodeAnswer, a_look_of_before_is_not_fresh) {
  NodeSnapshot snapshot = node();
  snapshot.results[0].completed = WallTime{std::chrono::seconds{1'700'000'000}};
  const auto answers = answers_of({"remapped"}, snapshot, {WallTime{std::chrono::seconds{1'700'000'001}}});
  EXPECT_NE(to_json(answers, snapshot).find(R"("outcome":"failed","fresh":false)"), std::string::npos);
}

TEST(NodeAnswer, json_tells_what_is_of_now_and_what_is_not) {
  const NodeSnapshot snapshot = node();
  EXPECT_EQ(to_json(answers_of({"remapped", "dcgm", "nic"}, snapshot), snapshot),
            R"({"node":"node-a","simulated":false,"statuses":["REMAPPED ROWS Failed"],"checks":[)"
            R"({"name":"remapped","check":"gpu.row_remap","outcome":"failed","fresh":true,"text":)"
            R"("\n[[ REMAPPED ROWS ]] Briefings completed. Continue with remapped rows evaluation.\n)"
            R"([[ REMAPPED ROWS ]] FAIL\nHost  node-a\nDetected NVIDIA GPU: 0 Total: 1\nFAIL\n1\n"},)"
            R"({"name":"dcgm","check":"gpu.diagnosis","outcome":"passed","fresh":false,)"
            R"("resultOf":"2026-11-22T13:05:09.000Z","text":)"
            R"("\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n)"
            R"([[ DCGM ]] Result of 2026-11-22T13:05:09.000Z; authenticate to run now.\n)"
            R"([[ DCGM ]] SUCCESS\n"},)"
            R"({"name":"nic","outcome":"not_supported","text":"check not supported: nic"}]})");
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
