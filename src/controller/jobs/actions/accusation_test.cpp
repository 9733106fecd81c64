// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "controller/steps.hpp"
#include "tests/support/controller/remediation_fixture.hpp"

namespace autopilot::controller::accusation_test {
namespace {

using testing::FakeCluster;
using ::testing::IsEmpty;
using ::testing::Not;

// A job accuses a node whose agent reports PASS.
class Accusations : public testing::RemediationFixture {
 protected:
  Accusations() {
    policy_.rules.mode = Mode::act;
    policy_.rules.breaker_nodes = 5;
    add_pod(kPod, "n1");
    let_through(kPod);
  }
  void accuse(const std::string& name, bool keeps_pods) {
    boost::json::object node = *cluster_.find(node_path(name));
    const Accusation accusation{.finding = "00112233aabbccdd",
                                .job = "ml/train",
                                .effect = "hang",
                                .blamed = "gpu/3",
                                .since = clock_.now().wall - Rules{}.breaker_settle,
                                .keeps_pods = keeps_pods};
    node["metadata"].as_object()["annotations"].as_object()["autopilot.ibm.com/job-accused"] =
        format_accusation(accusation);
    cluster_.put(node_path(name), node);
  }
};

TEST_F(Accusations, hold_the_node_and_move_its_pods_within_the_rules_of_the_planner) {
  accuse("n1", false);
  lead();
  settle();
  EXPECT_TRUE(is_cordoned("n1"));
  EXPECT_EQ(cluster_.find(kPod), nullptr);
  EXPECT_FALSE(is_cordoned("n2"));
}

TEST_F(Accusations, keep_the_pods_of_a_job_that_waits_for_a_checkpoint) {
  accuse("n1", true);
  lead();
  settle();
  EXPECT_TRUE(is_cordoned("n1"));
  EXPECT_NE(cluster_.find(kPod), nullptr);
}

TEST_F(Accusations, move_the_pods_after_the_checkpoint) {
  accuse("n1", true);
  lead();
  settle();
  ASSERT_NE(cluster_.find(kPod), nullptr);
  accuse("n1", false);
  settle();
  EXPECT_TRUE(is_cordoned("n1"));
  EXPECT_EQ(cluster_.find(kPod), nullptr);
}

TEST_F(Accusations, only_leave_a_record_if_the_policy_observes) {
  policy_.rules.mode = Mode::observe;
  accuse("n1", false);
  lead();
  settle();
  EXPECT_FALSE(is_cordoned("n1"));
  EXPECT_NE(cluster_.find(kPod), nullptr);
  EXPECT_THAT(phases(), Not(IsEmpty()));
}

TEST_F(Accusations, of_many_nodes_at_once_trip_the_breaker) {
  policy_.rules.breaker_nodes = 3;
  for (const char* name : {"n1", "n2", "n3"})
    accuse(name, false);
  lead();
  settle();
  EXPECT_FALSE(is_cordoned("n1"));
  EXPECT_NE(cluster_.find(kPod), nullptr);
}

TEST(AccusationTexts, other_texts_accuse_no_node) {
  for (const char* text : {"", "x", "[]", "{}", R"({"finding":"f"})", R"({"since":"2026-01-01T00:00:00Z"})"})
    EXPECT_FALSE(parse_accusation(text)) << text;
  const Accusation accusation{.finding = "f",
                              .job = "j",
                              .effect = "hang",
                              .blamed = "host",
                              .since = WallTime{std::chrono::hours{1}}};
  EXPECT_EQ(parse_accusation(format_accusation(accusation)), accusation);
}

}  // namespace
}  // namespace autopilot::controller::accusation_test
