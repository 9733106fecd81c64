// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/objects/object_lint.hpp"

#include <gtest/gtest.h>

namespace autopilot::workloads::migrate {
namespace {

const std::vector<InputFile> kFiles{
    {"build.yaml",
     "kind: BuildConfig\nmetadata: {name: b}\nspec:\n  output:\n    to: {kind: ImageStreamTag, name: "
     "'powerai:tmpdata'}\n"},
    {"dc.yaml",
     "kind: DeploymentConfig\nmetadata: {name: gpu-biggan}\nspec:\n  replicas: 1\n  template:\n    "
     "metadata:\n      labels: {test: powerai}\n    spec:\n"
     "      restartPolicy: Always\n      containers:\n        - name: c\n          image: "
     "'registry:5000/ns/powerai:biggan-testdata'\n          env:\n"
     "            - {name: NVIDIA_VISIBLE_DEVICES, value: all}\n            - {name: A, value: 'yes'}\n      "
     "    resources: {limits: {nvidia.com/gpu: 4}}\n"},
    {"pod.yaml",
     "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n    - name: c\n      image: "
     "'registry:5000/ns/powerai:biggan-testdata'\n      resources: {limits: {nvidia.com/gpu: 1}}\n"},
    {"openshift/Dockerfile", "FROM base\nENTRYPOINT [\"./openshift/entrypoint.sh\"]\n"},
    {"openshift/scripts/entrypoint.sh", "#!/bin/sh\n"},
};

TEST(ObjectLint, five_files_become_a_consistent_set) {
  const auto lint = lint_objects(kFiles);
  ASSERT_TRUE(lint.has_value()) << lint.error().what;
  std::vector<std::string> ids;
  for (const ScriptFinding& finding : lint->findings)
    ids.push_back(finding.id);
  for (const std::string_view id :
       {"M-DAEMON-KIND", "M-TAG-MISMATCH", "M-ENTRYPOINT-MISSING", "M-VISIBLE-ALL", "M-IDLE-GPUS"})
    EXPECT_NE(std::find(ids.begin(), ids.end(), id), ids.end()) << id;
  EXPECT_TRUE(lint->needs_decision);
  ASSERT_EQ(lint->replacements.size(), 4U);
  EXPECT_EQ(lint->replacements[0].text, "FROM base\nENTRYPOINT [\"./openshift/scripts/entrypoint.sh\"]\n");
  const std::string& job = lint->replacements[2].text;
  EXPECT_EQ(lint->replacements[2].name, "gpu-biggan-job.yaml");
  EXPECT_NE(job.find("kind: Job"), std::string::npos);
  EXPECT_NE(job.find("powerai:tmpdata"), std::string::npos);
  EXPECT_NE(job.find("nvidia.com/gpu: 1"), std::string::npos);
  EXPECT_NE(job.find("restartPolicy: Never"), std::string::npos);
  EXPECT_EQ(job.find("VISIBLE_DEVICES"), std::string::npos);
  EXPECT_EQ(job.find("replicas"), std::string::npos);
}

TEST(ObjectLint, what_is_not_an_object) {
  EXPECT_FALSE(lint_objects({{"a.yaml", "a: [1"}}).has_value());
  EXPECT_FALSE(lint_objects({{"a.yaml", "a: 1\n"}}).has_value());
  EXPECT_TRUE(lint_objects({}).has_value());
}

}  // namespace
}  // namespace autopilot::workloads::migrate
