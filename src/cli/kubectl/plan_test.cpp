// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kPlansNow{1'800'000'000s};

kube::RemediationPlan plan(const std::string& node, const std::string& phase, Duration age) {
  kube::RemediationPlan plan;
  plan.meta.name = node + "-1";
  plan.spec = {.node = node,
               .pool = "default",
               .cause = "gpu.pcie_bandwidth",
               .created = kPlansNow - age,
               .evidence = {"r1"}};
  kube::PlanStatus status;
  status.phase = phase;
  status.message = "it says why";
  plan.status = status;
  return plan;
}

TEST(PlanTable, has_the_newest_first_and_says_what_cannot_be_done) {
  std::vector plans{plan("gpu-1", "held", 3h), plan("gpu-2", "executing", 5min)};
  plans[1].status->problem = "the budget of the pod";
  sort_newest_first(plans);
  EXPECT_EQ(render_plans(plans, kPlansNow, {}),
            "NODE   PHASE      AGE  CAUSE               MESSAGE\n"
            "gpu-2  executing  5m   gpu.pcie_bandwidth  not done yet: the budget of the pod\n"
            "gpu-1  held       3h   gpu.pcie_bandwidth  it says why\n");
}

TEST(PlanTable, what_is_over_is_not_of_now) {
  EXPECT_TRUE(is_current(plan("n", "recorded", 1h)));
  EXPECT_FALSE(is_current(plan("n", "over", 1h)));
  kube::RemediationPlan made = plan("n", "over", 1h);
  made.status.reset();
  EXPECT_TRUE(is_current(made));
}

TEST(PlanTable, shows_all_of_one_plan) {
  kube::RemediationPlan one = plan("gpu-1", "held", 3h);
  one.status->evidence = {"r1", "r2"};
  one.status->steps = {"cordon gpu-1", "evict_pod ml/train-0"};
  one.status->done = {{"cordon", "gpu-1", kPlansNow - 2h, false}};
  one.status->begun = kPlansNow - 2h;
  const std::string text = render_plan(one, kPlansNow, {});
  for (const char* part : {"PLAN", "gpu-1-1", "r1, r2", "evict_pod ml/train-0", "cordon gpu-1, 2h ago",
                           "2027-01-15T06:00:00.000Z, 2h ago"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("returned")));
}

}  // namespace

}  // namespace autopilot::cli
