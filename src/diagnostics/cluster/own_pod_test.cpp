// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/own_pod.hpp"

#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

TEST(OwnPod, tells_image_and_daemon_set) {
  const auto own = parse_own_pod(R"({"metadata": {"ownerReferences": [
      {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-1"},
      {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "autopilot", "uid": "u-2", "controller": true}]},
      "spec": {"containers": [{"name": "kernel-log", "image": "other"}, {"name": "agent", "image": "ours:1"}]}})");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->image, "ours:1");
  ASSERT_TRUE(own->owner);
  EXPECT_EQ(own->owner->name, "autopilot");
  EXPECT_EQ(own->owner->api_version, "apps/v1");
  EXPECT_EQ(own->owner->uid, "u-2");
}

TEST(OwnPod, one_container_may_have_any_name_and_a_pod_of_nobody_has_no_owner) {
  const auto own = parse_own_pod(R"({"spec": {"containers": [{"name": "main", "image": "ours:1"}]}})");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->image, "ours:1");
  EXPECT_FALSE(own->owner);
}

TEST(OwnPod, what_nobody_writes_tells_nothing) {
  EXPECT_EQ(parse_own_pod("[]").error().code, Errc::malformed);
  const auto own =
      parse_own_pod(R"({"spec": {"containers": [1, {"name": "a", "image": 2}, {}]}, "metadata": 3})");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->image, "");
  EXPECT_FALSE(own->owner);
}

}  // namespace
}  // namespace autopilot::diagnostics
