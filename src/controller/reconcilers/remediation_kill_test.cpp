// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "controller/planner/removals.hpp"
#include "tests/support/controller/remediation_fixture.hpp"

// A controller that is killed at any of its requests, followed by another one.
namespace autopilot::controller {
namespace {

namespace json = boost::json;

using testing::FakeCluster;

// The write at which it is killed, and whether the API server still executed that write.
struct Kill {
  std::size_t write = 0;
  bool is_done = false;
};

class Story : public testing::RemediationFixture {
 public:
  void TestBody() override {}

  void a_test_fails() {
    add_pod(kPod, "n1");
    report_failure("r1", "n1");
  }
  void a_job_runs_on_a_node_that_turns_bad() {
    policy_.rules.mode = Mode::act;
    add_pod(kPod, "n1");
    let_through(kPod);
    report_incident("n1");
  }
  void the_node_heals() {
    clock_.time += std::chrono::hours{1};
    const json::object pass{{"gpuUuid", "GPU-1"}, {"test", "gpu.pcie_bandwidth"}, {"time", now_text()}};
    for (const char* name : {"n1", "n2", "n3"})
      report_health(name, "PASS", {pass});
  }

  // The final state, and the number of writes.
  std::size_t carry_out(std::optional<Kill> kill) {
    const std::size_t before = cluster_.writes().size();
    if (kill) {
      cluster_.fall_silent_after(kill->write, kill->is_done);
      lead();
      EXPECT_TRUE(run_until([this] { return cluster_.is_silent(); }));
      die();
      cluster_.speak();
    }
    lead();
    settle();
    // A controller that crashes after it recorded a removal may not have sent the request: it is sent again.
    clock_.time += kAskAgain;
    settle();
    die();
    return cluster_.writes().size() - before;
  }

  // The state of the cluster. A controller that crashes between a step and its note or Event leaves that one
  // out.
  [[nodiscard]] std::vector<std::string> state() const {
    std::vector<std::string> lines;
    for (const char* name : {"n1", "n2", "n3"}) {
      const json::object* node = cluster_.find(node_path(name));
      lines.push_back(std::string(name) + (is_cordoned(name) ? " cordoned " : " free ") +
                      note_on(name, "held") + (note_on(name, "probation").empty() ? "" : " on probation") +
                      json::serialize(node->at("spec").as_object().at("taints")) +
                      FakeCluster::text(*node, {"metadata", "annotations", "foreign/note"}));
    }
    if (cluster_.find(kPod) != nullptr) lines.emplace_back("the pod is there");
    for (const auto* plan : cluster_.all(FakeCluster::kOurs + "remediationplans")) {
      lines.push_back(FakeCluster::text(*plan, {"metadata", "name"}) + ' ' +
                      FakeCluster::text(*plan, {"status", "phase"}) + ' ' +
                      FakeCluster::text(*plan, {"status", "message"}) +
                      (FakeCluster::flag(*plan, {"status", "holds"}) ? " holds" : ""));
    }
    for (const auto* request : cluster_.all(FakeCluster::kOurs + "remediationrequests"))
      lines.push_back("request " + FakeCluster::text(*request, {"spec", "action"}));
    if (cluster_.find(kReports + "r1") != nullptr) lines.push_back("report " + phase_of_report("r1"));
    return lines;
  }
};

TEST(KilledController, leaves_what_the_next_one_brings_to_the_same_end) {
  Story whole;
  whole.a_test_fails();
  const std::size_t writes = whole.carry_out({});
  ASSERT_GT(writes, 6U);
  const auto end = whole.state();
  for (std::size_t write = 0; write < writes; ++write)
    for (const bool is_done : {false, true}) {
      Story cut;
      cut.a_test_fails();
      cut.carry_out(Kill{write, is_done});
      EXPECT_EQ(cut.state(), end) << "killed at write " << write << (is_done ? ", which was done" : "");
    }
}

TEST(KilledController, empties_a_bad_node_all_the_same) {
  Story whole;
  whole.a_job_runs_on_a_node_that_turns_bad();
  const std::size_t writes = whole.carry_out({});
  ASSERT_GT(writes, 6U);
  const auto end = whole.state();
  EXPECT_THAT(end, ::testing::Contains("request reset_gpu"));
  EXPECT_THAT(end, ::testing::Not(::testing::Contains("the pod is there")));
  for (std::size_t write = 0; write < writes; ++write)
    for (const bool is_done : {false, true}) {
      Story cut;
      cut.a_job_runs_on_a_node_that_turns_bad();
      cut.carry_out(Kill{write, is_done});
      EXPECT_EQ(cut.state(), end) << "killed at write " << write << (is_done ? ", which was done" : "");
    }
}

TEST(KilledController, gives_a_node_back_all_the_same) {
  Story whole;
  whole.a_test_fails();
  whole.carry_out({});
  whole.the_node_heals();
  const std::size_t writes = whole.carry_out({});
  ASSERT_GT(writes, 4U);
  const auto end = whole.state();
  EXPECT_THAT(end.front(), ::testing::StartsWith("n1 free  on probation"));
  for (std::size_t write = 0; write < writes; ++write)
    for (const bool is_done : {false, true}) {
      Story cut;
      cut.a_test_fails();
      cut.carry_out({});
      cut.the_node_heals();
      cut.carry_out(Kill{write, is_done});
      EXPECT_EQ(cut.state(), end) << "killed at write " << write << (is_done ? ", which was done" : "");
    }
}

}  // namespace
}  // namespace autopilot::controller
