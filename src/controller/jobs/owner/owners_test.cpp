// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/owner/owners.hpp"

#include <gtest/gtest.h>
#include <string>

#include "tests/support/controller/job_samples.hpp"

namespace autopilot::controller::owners_test {
namespace {

using testing::job_report;

Pod pod_of(const std::string& name, const std::string& node, const Owner& owner,
           const std::string& space = "ml") {
  Pod pod;
  pod.name_space = space;
  pod.name = name;
  pod.uid = "uid-" + space + name;
  pod.node = node;
  pod.owner = owner;
  return pod;
}

const Owner kJob{.api_version = "batch/v1", .kind = "Job", .name = "train", .uid = "job-1"};

TEST(JobOwners, the_text_of_an_agent_is_not_trusted) {
  EXPECT_EQ(parse_owner_text("PyTorchJob ml/llama"),
            (OwnerText{.kind = "PyTorchJob", .name_space = "ml", .name = "llama"}));
  for (const char* text : {"", "Job", "Job ml", "Job ml/", "Job /x", "Job ml/../secrets/x", "Job ml/a/b",
                           "Job ML/x", "Job ml/x?y", "J/b ml/x", " ml/x", "Job ml/x\n"})
    EXPECT_FALSE(parse_owner_text(text)) << text;
}

TEST(JobOwners, only_pods_on_nodes_of_the_job_count) {
  World world;
  world.put(pod_of("train-0", "n1", kJob));
  world.put(pod_of("train-1", "n2", kJob));
  world.put(pod_of("train-2", "n9", kJob));
  world.put(pod_of("other-0", "n1", {"batch/v1", "Job", "other", "job-2"}));
  world.put(pod_of("train-0", "n1", kJob, "elsewhere"));
  const JobObjects objects = find_job_objects(world, job_report());
  ASSERT_TRUE(objects.owner);
  EXPECT_EQ(objects.owner->uid, "job-1");
  EXPECT_EQ(owner_path(objects), "/apis/batch/v1/namespaces/ml/jobs/train");
  ASSERT_EQ(objects.pods.size(), 2);
  EXPECT_EQ(pod_path(*objects.pods[0]), "/api/v1/namespaces/ml/pods/train-0");
}

TEST(JobOwners, an_owner_without_a_pod_there_is_not_confirmed) {
  World world;
  world.put(pod_of("train-0", "n9", kJob));
  const JobObjects objects = find_job_objects(world, job_report());
  EXPECT_FALSE(objects.owner);
  EXPECT_EQ(objects.name_space, "");
}

TEST(JobOwners, equal_kinds_of_different_groups_are_told_apart) {
  EXPECT_FALSE(find_owner_kind("batch/v1", "Job")->suspend.empty());
  EXPECT_TRUE(find_owner_kind("batch.volcano.sh/v1alpha1", "Job")->suspend.empty());
  EXPECT_EQ(find_owner_kind("evil.example/v1", "Job"), nullptr);
  EXPECT_EQ(find_owner_kind("v1", "Node"), nullptr);
}

TEST(JobOwners, a_deployment_is_found_behind_its_replica_set) {
  World world;
  world.put(pod_of("serve-5d8f-x", "n1", {"apps/v1", "ReplicaSet", "serve-5d8f", "rs-1"}));
  jobs::JobReport report = job_report();
  report.owner = "Deployment ml/serve";
  const JobObjects objects = find_job_objects(world, report);
  ASSERT_TRUE(objects.owner);
  EXPECT_EQ(owner_path(objects), "/apis/apps/v1/namespaces/ml/deployments/serve");
  report.owner = "Deployment ml/ser";
  EXPECT_FALSE(find_job_objects(world, report).owner);
}

}  // namespace
}  // namespace autopilot::controller::owners_test
