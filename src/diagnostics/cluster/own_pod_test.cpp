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

TEST(NodeLabel, is_the_name_where_a_value_has_room_for_it) {
  EXPECT_EQ(node_label_value("gpu-7"), "gpu-7");
  EXPECT_EQ(node_label_value(std::string(63, 'a')), std::string(63, 'a'));
}

TEST(NodeLabel, of_a_long_name_it_is_the_beginning_and_a_number_for_all_of_it) {
  const std::string beginning(46, 'a');
  const std::string value = node_label_value(beginning + std::string(14, 'b') + "-1.example.org");
  EXPECT_EQ(value.size(), 63U);
  EXPECT_EQ(value.substr(0, 47), beginning + "-");
  EXPECT_NE(value, node_label_value(beginning + std::string(14, 'b') + "-2.example.org"));
}

}  // namespace

}  // namespace autopilot::diagnostics
