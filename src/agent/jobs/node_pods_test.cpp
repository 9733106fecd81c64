// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/node_pods.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::agent::node_pods_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

kube::Pod pod_of(const std::string& uid) {
  kube::Pod pod;
  pod.meta.uid = uid;
  pod.meta.name_space = "ml";
  pod.meta.name = "pod-" + uid;
  pod.meta.labels = {{"app", "llama"}};
  pod.meta.annotations = {{"autopilot.ibm.com/metrics-port", "8000"}, {"other.io/large", "text"}};
  pod.owner_kind = "Job";
  pod.owner_name = "llama";
  pod.owner_uid = "o1";
  pod.addresses = {"10.0.0.7", "fd00::7"};
  return pod;
}

kube::Pod ended(const std::string& uid, std::vector<kube::ContainerEnd> ends) {
  kube::Pod pod = pod_of(uid);
  pod.ends = std::move(ends);
  return pod;
}

TEST(NodePods, facts_are_known_after_the_first_complete_list) {
  NodePods pods;
  EXPECT_FALSE(pods.facts());
  pods.begin_list();
  pods.put(pod_of("u1"));
  EXPECT_FALSE(pods.facts());
  pods.end_list();
  const auto facts = pods.facts().value();
  ASSERT_THAT(facts, SizeIs(1));
  const collect::PodFacts& one = facts.at("u1");
  EXPECT_EQ(one.name_space + "/" + one.name, "ml/pod-u1");
  EXPECT_THAT(one.labels, ElementsAre(Pair("app", "llama")));
  EXPECT_THAT(one.annotations, ElementsAre(Pair("autopilot.ibm.com/metrics-port", "8000")));
  EXPECT_THAT(one.owners, ElementsAre(collect::PodOwner{.kind = "Job", .name = "llama", .uid = "o1"}));
  EXPECT_EQ(pods.address("u1"), "10.0.0.7");
  EXPECT_EQ(pods.address("u2"), std::nullopt);
}

TEST(NodePods, a_new_list_replaces_what_is_known_only_when_it_is_complete) {
  NodePods pods;
  pods.begin_list();
  pods.put(pod_of("u1"));
  pods.end_list();
  pods.begin_list();
  pods.put(pod_of("u2"));
  EXPECT_TRUE(pods.facts()->contains("u1"));
  pods.end_list();
  EXPECT_FALSE(pods.facts()->contains("u1"));
  EXPECT_TRUE(pods.facts()->contains("u2"));
}

TEST(NodePods, of_several_containers_the_one_that_failed_is_the_end) {
  NodePods pods;
  pods.put(pod_of("u1"));
  EXPECT_FALSE(pods.end("u1"));
  EXPECT_FALSE(pods.end("u2"));
  pods.put(ended("u1", {{.name = "proxy", .reason = "Completed"}, {.name = "train", .exit_code = 3}}));
  EXPECT_EQ(pods.end("u1")->code, 3);
  EXPECT_FALSE(pods.end("u1")->oom);
  pods.put(ended("u1", {{.name = "train", .exit_code = 137, .reason = "OOMKilled"}}));
  EXPECT_TRUE(pods.end("u1")->oom);
  pods.put(ended("u1", {{.name = "train", .reason = "Completed"}}));
  EXPECT_EQ(pods.end("u1")->code, 0);
}

TEST(NodePods, the_end_of_a_pod_that_is_deleted_says_so_and_is_known_for_a_while) {
  NodePods pods;
  kube::Pod gone = ended("u1", {{.name = "train", .exit_code = 143}});
  gone.meta.is_deleting = true;
  pods.remove(gone);
  EXPECT_EQ(pods.end("u1")->reason, jobs::PodReason::deleted);
  for (std::size_t i = 0; i < NodePods::kMostGone; ++i)
    pods.remove(pod_of("later" + std::to_string(i)));
  EXPECT_FALSE(pods.end("u1"));
}

TEST(NodePods, pods_and_texts_beyond_the_limits_are_left_out) {
  NodePods pods;
  pods.begin_list();
  kube::Pod large = pod_of("u");
  large.meta.labels["large"] = std::string(NodePods::kMostTextBytes, 'x');
  pods.put(large);
  for (std::size_t i = 0; i < NodePods::kMostPods; ++i)
    pods.put(pod_of("u" + std::to_string(i)));
  pods.end_list();
  EXPECT_THAT(*pods.facts(), SizeIs(NodePods::kMostPods));
  EXPECT_THAT(pods.facts()->at("u").labels, ElementsAre(Pair("app", "llama")));
}

}  // namespace
}  // namespace autopilot::agent::node_pods_test
