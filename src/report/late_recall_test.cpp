// SPDX-License-Identifier: Apache-2.0
#include "report/late_recall.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kube/cluster_fixture.hpp"
#include "tests/support/report/sample_report.hpp"

namespace autopilot::report {
namespace {

using net::testing::answer;
using net::testing::Scripted;
using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LateRecallTest : public kube::testing::ClusterFixture {
 protected:
  // What comes of it when the cluster says this, one answer after the other.
  std::optional<NodeReport> ask(std::vector<Scripted> said, bool is_simulated = true) {
    serve(std::move(said));
    bool has_ended = false;
    std::optional<NodeReport> taken;
    LateRecall recall(
        loop_, *client_, "autopilot", "node-1", is_simulated,
        [&](std::optional<NodeReport> report) {
          taken = std::move(report);
          has_ended = true;
        },
        milliseconds{5});
    recall.start();
    EXPECT_TRUE(run_until([&] {
      if (!recall.problem().empty()) problem_ = recall.problem();
      return has_ended;
    }));
    EXPECT_EQ(recall.problem(), "") << "in the end it is known";
    return taken;
  }

  std::string problem_;
};

TEST_F(LateRecallTest, asks_until_the_cluster_gives_the_report) {
  const auto report = ask({{answer(503, "{}")}, {answer(403, "{}")}, {answer(200, sample_report())}});
  ASSERT_TRUE(report);
  EXPECT_THAT(report->saved.incidents, SizeIs(1));
  EXPECT_THAT(requests(), SizeIs(3));
  EXPECT_THAT(requests(), Each(HasSubstr("/namespaces/autopilot/nodehealthreports/node-1")));
  EXPECT_THAT(problem_, HasSubstr("the report of an earlier agent cannot be read: "));
}

TEST_F(LateRecallTest, ends_when_there_is_none_or_none_for_this_agent) {
  EXPECT_FALSE(ask({{answer(404, "{}")}}));
  EXPECT_EQ(problem_, "");
  EXPECT_FALSE(ask({{answer(200, sample_report())}}, false)) << "of a simulated machine";
  EXPECT_FALSE(ask({{answer(200, sample_report().substr(0, 500))}}));
}

}  // namespace
}  // namespace autopilot::report
