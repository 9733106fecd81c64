// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/actions/action_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/controller/job_samples.hpp"

namespace autopilot::controller::action_plan_test {
namespace {

using ::testing::HasSubstr;
using testing::job_report;
using testing::wanted_action;

class JobActionPlans : public ::testing::Test {
 protected:
  JobActionPlans() {
    for (const char* name : {"n1", "n2"}) {
      Node node;
      node.name = name;
      node.gpus = 8;
      world_.put(node);
      Pod pod;
      pod.name_space = "ml";
      pod.name = std::string("train-") + name;
      pod.uid = std::string("uid-") + name;
      pod.node = name;
      pod.owner = Owner{"batch/v1", "Job", "train", "job-1"};
      world_.put(pod);
    }
  }
  [[nodiscard]] JobActionPlan plan(const jobs::WantedAction& action) const {
    return plan_action(action, world_, find_job_objects(world_, job_report()),
                       node_marks("autopilot.ibm.com"), job_marks("autopilot.ibm.com"));
  }

  World world_;
};

TEST_F(JobActionPlans, a_stop_leaves_the_node_and_its_pods_to_the_planner) {
  const JobActionPlan made = plan(wanted_action(jobs::Choice::stop_now));
  ASSERT_EQ(made.steps.size(), 1) << made.refusal;
  EXPECT_EQ(made.steps[0].write.path, "/api/v1/nodes/n1");
  EXPECT_THAT(made.steps[0].write.body, HasSubstr("autopilot.ibm.com/job-accused"));
  EXPECT_THAT(made.steps[0].write.body, HasSubstr(R"(\"keepsPods\":false)"));
  EXPECT_THAT(made.steps[0].write.body, HasSubstr(R"(\"finding\":\"00112233aabbccdd\")"));
}

TEST_F(JobActionPlans, a_swap_requests_a_checkpoint_and_keeps_the_pods) {
  const JobActionPlan made = plan(wanted_action(jobs::Choice::swap_at_checkpoint));
  ASSERT_EQ(made.steps.size(), 4) << made.refusal;
  EXPECT_THAT(made.steps[0].write.body, HasSubstr(R"(\"keepsPods\":true)"));
  EXPECT_EQ(made.steps[1].write.path, "/apis/batch/v1/namespaces/ml/jobs/train");
  EXPECT_EQ(made.steps[1].write.body,
            R"({"metadata":{"annotations":{"autopilot.ibm.com/checkpoint-requested":"00112233aabbccdd"}}})");
  EXPECT_EQ(made.steps[2].write.path, "/api/v1/namespaces/ml/pods/train-n1");
}

TEST_F(JobActionPlans, the_second_half_of_a_swap_leaves_the_pods_to_the_planner) {
  jobs::WantedAction action = wanted_action(jobs::Choice::swap_at_checkpoint);
  action.part = jobs::ActionPart::after_checkpoint;
  const JobActionPlan made = plan(action);
  ASSERT_EQ(made.steps.size(), 1) << made.refusal;
  EXPECT_EQ(made.steps[0].write.path, "/api/v1/nodes/n1");
  EXPECT_THAT(made.steps[0].write.body, HasSubstr(R"(\"keepsPods\":false)"));
}

TEST_F(JobActionPlans, a_stop_without_a_node_suspends_the_job) {
  jobs::WantedAction action = wanted_action(jobs::Choice::stop_now);
  action.finding.culprit = {.kind = jobs::EntityKind::program};
  const JobActionPlan made = plan(action);
  ASSERT_EQ(made.steps.size(), 1) << made.refusal;
  const auto write = made.steps[0].from_current("");
  ASSERT_TRUE(write);
  EXPECT_EQ(write->path, "/apis/batch/v1/namespaces/ml/jobs/train");
  EXPECT_EQ(write->body, R"({"spec":{"suspend":true}})");
}

TEST_F(JobActionPlans, a_job_of_kueue_is_suspended_by_its_workload) {
  jobs::WantedAction action = wanted_action(jobs::Choice::stop_now);
  action.finding.culprit = {.kind = jobs::EntityKind::program};
  const JobActionPlan made = plan(action);
  ASSERT_EQ(made.steps.size(), 1);
  const auto write = made.steps[0].from_current(
      R"({"items":[{"metadata":{"name":"other","ownerReferences":[{"kind":"Job","name":"other"}]}},)"
      R"({"metadata":{"name":"job-train-1","ownerReferences":[{"kind":"Job","name":"train"}]}}]})");
  ASSERT_TRUE(write);
  EXPECT_EQ(write->path, "/apis/kueue.x-k8s.io/v1beta1/namespaces/ml/workloads/job-train-1");
  EXPECT_EQ(write->body, R"({"spec":{"active":false}})");
  EXPECT_FALSE(made.steps[0].from_current("not JSON"));
}

TEST_F(JobActionPlans, a_restart_in_place_evicts_the_pods_of_the_culprit) {
  const JobActionPlan made = plan(wanted_action(jobs::Choice::restart_in_place));
  ASSERT_EQ(made.steps.size(), 1) << made.refusal;
  EXPECT_EQ(made.steps[0].write.path, "/api/v1/namespaces/ml/pods/train-n1/eviction");
  EXPECT_THAT(made.steps[0].write.body, HasSubstr("uid-n1"));
  jobs::WantedAction all = wanted_action(jobs::Choice::restart_in_place);
  all.finding.culprit = {};
  EXPECT_EQ(plan(all).steps.size(), 2);
}

TEST_F(JobActionPlans, nothing_is_done_about_what_the_api_server_does_not_confirm) {
  jobs::WantedAction action = wanted_action(jobs::Choice::stop_now);
  action.finding.culprit.node = "n9";
  EXPECT_THAT(plan(action).refusal, HasSubstr("no pod of the job on node n9"));
  const JobActionPlan unknown = plan_action(wanted_action(jobs::Choice::stop_now), world_, {},
                                            node_marks("autopilot.ibm.com"), job_marks("autopilot.ibm.com"));
  EXPECT_THAT(unknown.refusal, HasSubstr("no pod of the owner 'Job ml/train'"));
}

TEST_F(JobActionPlans, unknown_never_acts) {
  jobs::WantedAction action = wanted_action(jobs::Choice::stop_now);
  action.request.is_known = false;
  EXPECT_TRUE(plan(action).steps.empty());
  EXPECT_THAT(plan(action).refusal, HasSubstr("data that is missing"));
}

TEST_F(JobActionPlans, a_switch_is_not_held) {
  jobs::WantedAction action = wanted_action(jobs::Choice::stop_now);
  action.finding.culprit = {.kind = jobs::EntityKind::leaf, .node = "leaf-1"};
  EXPECT_THAT(plan(action).refusal, HasSubstr("leaf switch cannot be held"));
}

TEST_F(JobActionPlans, a_pod_without_an_owner_is_not_evicted) {
  EXPECT_TRUE(plan(wanted_action(jobs::Choice::keep_running)).steps.empty());
  Pod pod = *world_.pod("uid-n1");
  pod.set = pod.owner;
  pod.owner.reset();
  world_.put(pod);
  EXPECT_THAT(plan(wanted_action(jobs::Choice::restart_in_place)).refusal, HasSubstr("has no owner"));
}

}  // namespace
}  // namespace autopilot::controller::action_plan_test
