// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/remediation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/remediation_fixture.hpp"

namespace autopilot::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RemediationTest : public testing::RemediationFixture {};

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

}  // namespace
}  // namespace autopilot::controller
