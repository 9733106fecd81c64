// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/pvc_objects.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

namespace json = boost::json;

const PvcPlace kPlace{.node = "gpu-7",
                      .node_uid = "u-7",
                      .name_space = "autopilot",
                      .bytes = 1 << 20,
                      .image = "registry.example/pause:1"};
const PvcNames kNames{"autopilot-pvc-1", "autopilot.ibm.com/pvc-run", "r"};

TEST(PvcObjects, the_same_test_has_the_same_name_and_others_have_others) {
  const PvcTarget fast{"fast", "ReadWriteOnce"};
  EXPECT_EQ(pvc_object_name("gpu-7", fast), pvc_object_name("gpu-7", fast));
  EXPECT_NE(pvc_object_name("gpu-7", fast), pvc_object_name("gpu-8", fast));
  EXPECT_NE(pvc_object_name("gpu-7", fast), pvc_object_name("gpu-7", {"fast", "ReadWriteMany"}));
  EXPECT_EQ(pvc_object_name("gpu-7", fast).size(), 30U);
}

TEST(PvcObjects, the_label_names_the_node) {
  EXPECT_EQ(pvc_label(kPlace), "autopilot.ibm.com/pvc-test=gpu-7");
}

TEST(PvcObjects, a_claim_asks_for_class_mode_and_size_and_goes_with_its_node) {
  const auto claim = json::parse(claim_json(kPlace, {"fast", "ReadWriteMany"}, kNames));
  EXPECT_EQ(claim.at_pointer("/spec/storageClassName"), "fast");
  EXPECT_EQ(claim.at_pointer("/spec/accessModes/0"), "ReadWriteMany");
  EXPECT_EQ(claim.at_pointer("/spec/resources/requests/storage"), "1048576");
  EXPECT_EQ(claim.at_pointer("/metadata/ownerReferences/0/uid"), "u-7");
  EXPECT_EQ(claim.at_pointer("/metadata/annotations/autopilot.ibm.com~1pvc-run"), "r");
  EXPECT_EQ(claim.at_pointer("/metadata/labels/autopilot.ibm.com~1pvc-test"), "gpu-7");
}

TEST(PvcObjects, the_scheduler_places_the_pod_and_no_right_is_in_it) {
  const auto pod = json::parse(consumer_json(kPlace, kNames, std::chrono::minutes{5}));
  EXPECT_EQ(pod.at("spec").as_object().find("nodeName"), pod.at("spec").as_object().end());
  EXPECT_EQ(pod.at_pointer("/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
                           "nodeSelectorTerms/0/matchFields/0/values/0"),
            "gpu-7");
  EXPECT_EQ(pod.at_pointer("/spec/volumes/0/persistentVolumeClaim/claimName"), "autopilot-pvc-1");
  EXPECT_EQ(pod.at_pointer("/spec/automountServiceAccountToken"), false);
  EXPECT_EQ(pod.at_pointer("/spec/securityContext/runAsNonRoot"), true);
  EXPECT_EQ(pod.at_pointer("/spec/activeDeadlineSeconds"), 300);
}

}  // namespace
}  // namespace autopilot::diagnostics
