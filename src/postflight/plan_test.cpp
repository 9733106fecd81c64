// SPDX-License-Identifier: Apache-2.0
#include "postflight/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/diagnostics/gpu_fixture.hpp"

namespace autopilot::postflight {
namespace {

using namespace std::chrono_literals;
using diagnostics::testing::gpu;
using learning::Depth;
using learning::JobOutcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A completed job of two GPUs, which are idle, on a machine where diagnostics are allowed.
PlanInput plan_input() {
  return {.allowed = Allowed::quick,
          .job = {.outcome = JobOutcome::completed},
          .held = {gpu(0), gpu(1)},
          .idle = {gpu(0), gpu(1)},
          .busy = {},
          .wanted_by = {},
          .last_pass = std::nullopt,
          .quick = {"gpu.pcie_bandwidth", "gpu.sdc"},
          .deep = {"gpu.memory_test"},
          .most = 10min};
}

TEST(ValidationPlan, a_completed_job_gets_quick_diagnostics_of_its_idle_gpus) {
  const Plan plan = plan_validation(plan_input());
  EXPECT_EQ(plan.depth, Depth::quick);
  EXPECT_THAT(plan.diagnostics, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  EXPECT_THAT(plan.gpus, ElementsAre(gpu(0), gpu(1)));
  EXPECT_EQ(plan.deadline, 10min);
  EXPECT_FALSE(plan.yields);
  EXPECT_FALSE(plan.wants_pair_test);
  EXPECT_THAT(plan.reason, HasSubstr("quick diagnostics of 2 GPUs"));
}

struct PlanCase {
  const char* name;
  void (*change)(PlanInput& input);
  Depth depth;
  bool yields;
  const char* reason;
};

class ValidationPlanTable : public testing::TestWithParam<PlanCase> {};

TEST_P(ValidationPlanTable, has_the_depth_and_its_reason) {
  PlanInput input = plan_input();
  GetParam().change(input);
  const Plan plan = plan_validation(input);
  EXPECT_EQ(plan.depth, GetParam().depth) << plan.reason;
  EXPECT_EQ(plan.yields, GetParam().yields) << plan.reason;
  EXPECT_THAT(plan.reason, HasSubstr(GetParam().reason));
  EXPECT_EQ(plan.diagnostics.empty(), plan.depth == Depth::passive);
  EXPECT_EQ(plan.gpus.empty(), plan.depth == Depth::passive);
}

constexpr PlanCase kPlanCases[] = {
    {"operator_allows_no_load", [](PlanInput& in) { in.allowed = Allowed::passive; }, Depth::passive, false,
     "`validation.on_job_end` allows passive checks only"},
    {"no_load_even_if_suspected",
     [](PlanInput& in) {
       in.allowed = Allowed::passive;
       in.job.suspects_node = true;
     },
     Depth::passive, false, "passive checks only"},
    {"job_without_gpus",
     [](PlanInput& in) {
       in.held.clear();
       in.idle.clear();
     },
     Depth::passive, false, "held no GPU"},
    {"machine_without_diagnostics",
     [](PlanInput& in) {
       in.quick.clear();
       in.deep.clear();
     },
     Depth::passive, false, "offers no diagnostic"},
    {"gpus_in_use",
     [](PlanInput& in) {
       in.idle.clear();
       in.busy = "gpu/0000:00:00.0 is in use by 1 process";
     },
     Depth::passive, true, "is in use by 1 process"},
    {"users_unknown", [](PlanInput& in) { in.idle.clear(); }, Depth::passive, true,
     "no GPU of the job is idle"},
    {"next_job_waits", [](PlanInput& in) { in.wanted_by = "a pod waits at the pre-flight gate"; },
     Depth::passive, true, "a pod waits at the pre-flight gate"},
    {"passed_recently", [](PlanInput& in) { in.last_pass = 59min; }, Depth::passive, false,
     "passed the quick"},
    {"passed_long_ago", [](PlanInput& in) { in.last_pass = 60min; }, Depth::quick, false,
     "its GPUs are idle"},
    {"failed_without_cause", [](PlanInput& in) { in.job.outcome = JobOutcome::failed; }, Depth::deep, false,
     "failed without a known cause"},
    {"failed_unclear",
     [](PlanInput& in) {
       in.job.outcome = JobOutcome::failed;
       in.job.failure = "unclear";
       in.last_pass = 1min;
     },
     Depth::deep, false, "failed without a known cause"},
    {"failed_application",
     [](PlanInput& in) {
       in.job.outcome = JobOutcome::failed;
       in.job.failure = "application";
     },
     Depth::quick, false, "quick diagnostics"},
    {"node_suspected",
     [](PlanInput& in) {
       in.job.suspects_node = true;
       in.last_pass = 1min;
     },
     Depth::deep, false, "suspected this node"},
    {"suspected_but_wanted",
     [](PlanInput& in) {
       in.job.suspects_node = true;
       in.wanted_by = "a pod waits at the pre-flight gate";
     },
     Depth::passive, true, "a pod waits"},
    {"no_deeper_diagnostic",
     [](PlanInput& in) {
       in.job.suspects_node = true;
       in.deep.clear();
     },
     Depth::quick, false, "quick diagnostics"},
    {"one_gpu_in_use",
     [](PlanInput& in) {
       in.idle = {gpu(1)};
       in.busy = "gpu/0000:00:00.0 is in use by 1 process";
     },
     Depth::quick, true, "not tested: 1 GPU, because gpu/0000:00:00.0 is in use"},
};

INSTANTIATE_TEST_SUITE_P(Cases, ValidationPlanTable, testing::ValuesIn(kPlanCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ValidationPlan, deeper_diagnostics_come_after_the_quick_ones) {
  PlanInput input = plan_input();
  input.job.suspects_node = true;
  EXPECT_THAT(plan_validation(input).diagnostics,
              ElementsAre("gpu.pcie_bandwidth", "gpu.sdc", "gpu.memory_test"));
}

TEST(ValidationPlan, a_suspected_network_is_a_wish_whatever_is_allowed) {
  PlanInput input = plan_input();
  input.allowed = Allowed::passive;
  input.job.suspects_network = true;
  const Plan plan = plan_validation(input);
  EXPECT_TRUE(plan.wants_pair_test);
  EXPECT_THAT(plan.diagnostics, IsEmpty());
  EXPECT_THAT(plan.reason, HasSubstr("autopilot test network.bandwidth"));
}

TEST(ValidationPlan, failed_jobs_come_first) {
  const JobFacts failed{.outcome = JobOutcome::failed};
  const JobFacts completed{.outcome = JobOutcome::completed};
  EXPECT_TRUE(is_more_urgent(failed, completed));
  EXPECT_TRUE(is_more_urgent(failed, {}));
  EXPECT_FALSE(is_more_urgent(completed, failed));
  EXPECT_FALSE(is_more_urgent(failed, failed));
  EXPECT_FALSE(is_more_urgent(completed, {}));
}

}  // namespace
}  // namespace autopilot::postflight
