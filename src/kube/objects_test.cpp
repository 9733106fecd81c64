// SPDX-License-Identifier: Apache-2.0

#include "kube/objects.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string_view>
#include <vector>

#include "kube/json_object.hpp"

namespace autopilot::kube {

namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// What `parse` makes of a text.
template <class T>
T read_as(T (*parse)(const JsonObject&), std::string_view text) {
  const auto value = boost::json::parse({text.data(), text.size()});
  return parse({value.as_object()});
}

TEST(Objects, a_node_has_what_health_is_written_to) {
  const Node node = read_as<Node>(parse_node, (R"({
    "metadata": {"name": "gpu-7", "uid": "u-1", "resourceVersion": "42", "labels": {"a/b": "c"},
                 "annotations": {"d": "e"}},
    "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "l",
             "effect": "NoExecute", "timeAdded": "2026-11-21T08:00:00Z"}]},
    "status": {"capacity": {"nvidia.com/gpu": "9"},
               "allocatable": {"cpu": "95500m", "memory": "1Ti", "nvidia.com/gpu": "8", "nvidia.com/mig-1g.10gb": "14"},
               "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok",
                               "lastHeartbeatTime": "2026-11-22T08:00:00Z",
                               "lastTransitionTime": "2026-11-20T08:00:00Z"}]}})"));
  EXPECT_EQ(node.meta.name, "gpu-7");
  EXPECT_EQ(node.meta.uid, "u-1");
  EXPECT_EQ(node.meta.version, "42");
  EXPECT_THAT(node.meta.labels, ElementsAre(Pair("a/b", "c")));
  EXPECT_THAT(node.meta.annotations, ElementsAre(Pair("d", "e")));
  EXPECT_TRUE(node.is_unschedulable);
  EXPECT_THAT(node.taints, ElementsAre(Taint{"k", "v", "NoSchedule", {}},
                                       Taint{"l", "", "NoExecute", parse_time("2026-11-21T08:00:00Z")}));
  EXPECT_THAT(node.allocatable, ElementsAre(Pair("nvidia.com/gpu", 8), Pair("nvidia.com/mig-1g.10gb", 14)));
  EXPECT_THAT(node.capacity, ElementsAre(Pair("nvidia.com/gpu", 9)));
  ASSERT_EQ(node.conditions.size(), 1U);
  EXPECT_EQ(node.conditions[0].type, "Ready");
  EXPECT_EQ(*node.conditions[0].heartbeat - *node.conditions[0].transition, 48h);
}

TEST(Objects, a_pod_says_what_it_holds_and_whose_it_is) {
  const Pod pod = read_as<Pod>(parse_pod, (R"({
    "metadata": {"name": "train-0", "namespace": "ml", "deletionTimestamp": "2026-11-22T08:00:00Z",
                 "ownerReferences": [{"kind": "Node", "name": "x"},
                                     {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u",
                                      "controller": true}]},
    "spec": {"nodeName": "gpu-7", "serviceAccountName": "ci", "priority": 100, "activeDeadlineSeconds": 7200, "resourceClaims": [{"name": "gpus"}],
             "containers": [{"resources": {"limits": {"nvidia.com/gpu": "4", "cpu": "1"}}},
                            {"resources": {"limits": {"nvidia.com/gpu": 2}}}, {"resources": {}}]},
    "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}})"));
  EXPECT_EQ(pod.meta.name_space, "ml");
  EXPECT_TRUE(pod.meta.is_deleting);
  EXPECT_EQ(pod.node, "gpu-7");
  EXPECT_EQ(pod.owner_kind, "Job");
  EXPECT_EQ(pod.owner_name, "train");
  EXPECT_EQ(pod.owner_uid, "u");
  EXPECT_EQ(pod.owner_api_version, "batch/v1");
  EXPECT_EQ(pod.account, "ci");
  EXPECT_EQ(pod.priority, 100);
  EXPECT_EQ(pod.active_deadline, 7200);
  EXPECT_EQ(pod.devices.at("nvidia.com/gpu"), 6);
  EXPECT_THAT(pod.device_claims, ElementsAre("gpus"));
  EXPECT_THAT(pod.addresses, ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_FALSE(pod.is_over());
}

TEST(Objects, a_pod_says_how_its_containers_ended) {
  const Pod pod = read_as<Pod>(parse_pod, R"({"status": {"phase": "Failed", "containerStatuses": [
    {"name": "test", "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "{}"}}},
    {"name": "b", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
    {"name": "c", "state": {"running": {}}}]}})");
  EXPECT_THAT(pod.ends, ElementsAre(ContainerEnd{"test", 1, "Error", "{}"}));
  EXPECT_EQ(pod.waiting, "ImagePullBackOff");
  EXPECT_TRUE(pod.is_over());
}

TEST(Objects, a_pod_says_which_of_its_containers_that_begin_have_ended) {
  const Pod pod = read_as<Pod>(parse_pod, R"({
    "spec": {"initContainers": [{"name": "gate"}, {"name": "copy", "restartPolicy": "Always",
      "resources": {"limits": {"nvidia.com/gpu": "1"}}}, {"name": "last"}]},
    "status": {"initContainerStatuses": [{"name": "copy", "state": {"running": {}}}, {"name": "stranger"},
                                         {"name": "gate", "state": {"terminated": {"exitCode": 2}}}]}})");
  EXPECT_THAT(pod.init_containers,
              ElementsAre(InitContainer{"gate", 2}, InitContainer{"copy", {}, true, true},
                          InitContainer{"last", {}}));
}

TEST(Objects, a_job_is_over_when_its_conditions_say_so) {
  const Job running = *parse_job(R"({"metadata": {"name": "j", "uid": "u"}, "status": {"active": 1}})");
  EXPECT_EQ(running.meta.name, "j");
  EXPECT_EQ(running.active, 1);
  EXPECT_FALSE(running.is_over());
  const Job late = *parse_job(R"({"status": {"failed": 1, "conditions": [
    {"type": "Suspended", "status": "True"},
    {"type": "Complete", "status": "False"},
    {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}]}})");
  EXPECT_TRUE(late.is_failed);
  EXPECT_FALSE(late.is_complete);
  EXPECT_EQ(late.reason, "DeadlineExceeded");
  EXPECT_EQ(late.message, "too long");
  EXPECT_EQ(late.failed, 1);
  EXPECT_TRUE(
      parse_job(R"({"status": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}})")
          ->is_complete);
  EXPECT_EQ(parse_job("[]").error().code, Errc::malformed);
}

TEST(Objects, devices_of_containers_that_begin_are_used_again) {
  const Pod pod = read_as<Pod>(parse_pod, (R"({"spec": {
    "initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}},
                       {"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    "containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}]}})"));
  EXPECT_EQ(pod.devices.at("nvidia.com/gpu"), 8);
  const Pod busy = read_as<Pod>(parse_pod, (R"({"spec": {
    "initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "2"}}},
                       {"resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    "containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}]}})"));
  EXPECT_EQ(busy.devices.at("nvidia.com/gpu"), 6);
}

TEST(Objects, a_lease_says_who_holds_it) {
  const Lease lease = read_as<Lease>(parse_lease, (R"({"metadata": {"name": "l", "resourceVersion": "9"},
    "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 3,
             "acquireTime": "2026-11-22T08:00:00.000000Z", "renewTime": "2026-11-22T08:00:05.500000Z"}})"));
  EXPECT_EQ(lease.holder, "a");
  EXPECT_EQ(lease.duration, Duration(15s));
  EXPECT_EQ(lease.transitions, 3);
  EXPECT_EQ(*lease.renewed - *lease.acquired, 5500ms);
}

TEST(Objects, numbers_that_nobody_has_are_cut) {
  const Pod pod = read_as<Pod>(parse_pod, (R"({"spec": {"containers": [
    {"resources": {"limits": {"nvidia.com/gpu": "9223372036854775807", "amd.com/gpu": "-1"}}},
    {"resources": {"limits": {"nvidia.com/gpu": 9223372036854775807, "amd.com/gpu": "-9223372036854775808"}}}]}})"));
  EXPECT_EQ(pod.devices.at("nvidia.com/gpu"), std::int64_t{1} << 32);
  EXPECT_EQ(pod.devices.at("amd.com/gpu"), 0);
  const Lease lease =
      read_as<Lease>(parse_lease, (R"({"spec": {"leaseDurationSeconds": 9223372036854775807}})"));
  EXPECT_GT(lease.duration.value(), Duration(24h));
}

TEST(Objects, what_is_missing_is_empty) {
  EXPECT_TRUE(read_as<Node>(parse_node, ("{}")).meta.name.empty());
  EXPECT_THAT(
      read_as<Pod>(parse_pod, (R"({"metadata": 1, "spec": {"containers": [1, {"resources": []}]}})")).devices,
      IsEmpty());
  EXPECT_EQ(
      read_as<Lease>(parse_lease, (R"({"spec": {"renewTime": "yesterday", "leaseDurationSeconds": "x"}})"))
          .renewed,
      std::nullopt);
}

TEST(Objects, an_endpoint_slice_says_who_serves_and_where) {
  const auto slices = parse_endpoint_slices(R"({"items":[{"addressType":"IPv6","endpoints":[
    {"addresses":["fd00::1","fd00::2"],"nodeName":"gpu-7","targetRef":{"kind":"Pod","name":"agent-x"}},
    {"addresses":["fd00::3"],"conditions":{"ready":false},"targetRef":{"kind":"Node","name":"n"}},
    {"addresses":[]}, {}, 7],
    "ports":[{"name":"api","port":3333},{"port":70000},{"name":"any"}]}]})");
  ASSERT_TRUE(slices);
  ASSERT_EQ(slices->size(), 1U);
  const EndpointSlice& slice = slices->front();
  EXPECT_EQ(slice.address_type, "IPv6");
  EXPECT_EQ(slice.endpoints, (std::vector<Endpoint>{{"fd00::1", true, "gpu-7", "agent-x", {"api"}},
                                                    {"fd00::3", false, "", "", {"api"}}}));
  EXPECT_EQ(slice.ports, (std::vector<EndpointPort>{{"api", 3333}}));
  EXPECT_FALSE(parse_endpoint_slices("[]"));
}

TEST(Objects, a_storage_class_says_when_it_binds) {
  const auto waits = parse_storage_class(R"({"metadata": {"name": "local"}, "provisioner": "example.org/disk",
                                             "volumeBindingMode": "WaitForFirstConsumer"})");
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->meta.name, "local");
  EXPECT_EQ(waits->provisioner, "example.org/disk");
  EXPECT_TRUE(waits->waits_for_consumer);
  EXPECT_FALSE(parse_storage_class(R"({"volumeBindingMode": "Immediate"})")->waits_for_consumer);
  EXPECT_FALSE(parse_storage_class("{}")->waits_for_consumer);
  EXPECT_EQ(parse_storage_class("[]").error().code, Errc::malformed);
}

TEST(Objects, a_list_of_claims_says_what_became_of_each) {
  const auto claims = parse_claims(R"({"items": [
    {"metadata": {"name": "a", "uid": "u-1", "annotations": {"run": "1"}}, "spec": {"volumeName": "pv-1"},
     "status": {"phase": "Bound"}},
    7,
    {"metadata": {"name": "b", "deletionTimestamp": "2026-11-22T08:00:00Z"}, "status": {"phase": "Pending"}}]})");
  ASSERT_TRUE(claims);
  ASSERT_EQ(claims->size(), 2U);
  EXPECT_EQ((*claims)[0].meta.uid, "u-1");
  EXPECT_EQ((*claims)[0].phase, "Bound");
  EXPECT_EQ((*claims)[0].volume, "pv-1");
  EXPECT_TRUE((*claims)[1].meta.is_deleting);
  EXPECT_THAT(*parse_claims("{}"), IsEmpty());
  EXPECT_EQ(parse_claims("{").error().code, Errc::malformed);
}

TEST(Objects, a_storage_class_says_whether_volumes_outlive_their_claims) {
  EXPECT_TRUE(parse_storage_class(R"({"reclaimPolicy": "Retain"})")->keeps_volumes);
  EXPECT_FALSE(parse_storage_class(R"({"reclaimPolicy": "Delete"})")->keeps_volumes);
}

TEST(Objects, a_pod_without_a_node_says_why) {
  const auto pods = parse_pods(R"({"items": [{"status": {"phase": "Pending", "conditions": [
    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]}}]})");
  ASSERT_TRUE(pods);
  EXPECT_EQ(pods->at(0).unscheduled, "0/1 nodes");
  EXPECT_EQ(
      parse_pod(R"({"status": {"conditions": [{"type": "PodScheduled", "status": "True", "message": "x"}]}})")
          ->unscheduled,
      "");
}

TEST(ListPage, gives_its_objects_and_where_the_next_begins) {
  std::vector<std::string> names;
  const auto take = [&names](const JsonObject& object) { names.push_back(parse_meta(object).name); };
  auto rest = read_list_page(
      R"({"metadata": {"continue": "c1"}, "items": [{"metadata": {"name": "a"}}, 7, {"metadata": {"name": "b"}}]})",
      take);
  ASSERT_TRUE(rest) << rest.error().what;
  EXPECT_EQ(*rest, "c1");
  EXPECT_THAT(names, ElementsAre("a", "b"));
  rest = read_list_page(R"({"metadata": {}, "items": []})", take);
  ASSERT_TRUE(rest) << rest.error().what;
  EXPECT_EQ(*rest, "");
}

TEST(ListPage, what_is_no_list_is_malformed) {
  const auto none = [](const JsonObject&) { FAIL(); };
  for (const std::string& text :
       {std::string(), std::string("<html>"), std::string("[]"), std::string(R"({"items": {}})"),
        std::string(R"({"kind": "Node"})"), std::string(1000, '['), std::string("\0\xff", 2),
        std::string(R"({"items": [{"a")")}) {
    const auto rest = read_list_page(text, none);
    ASSERT_FALSE(rest) << text;
    EXPECT_EQ(rest.error().code, Errc::malformed);
  }
}

TEST(ListPage, what_is_no_object_is_malformed) {
  std::string name;
  const auto take = [&name](const JsonObject& object) { name = parse_meta(object).name; };
  EXPECT_TRUE(read_object(R"({"metadata": {"name": "a"}})", take));
  EXPECT_EQ(name, "a");
  for (const char* text : {"", "[]", "nonsense", R"({"a")"})
    EXPECT_FALSE(read_object(text, take)) << text;
}

TEST(ContainerImages, are_told_by_the_digest_that_runs) {
  const auto images = parse_container_images(R"({"spec": {"containers": [
      {"name": "a", "image": "registry/autopilot:1"}, {"name": "b", "image": "local:1"}, {"name": "c", "image": "x"}]},
    "status": {"containerStatuses": [{"name": "b", "imageID": "sha256:12"},
      {"name": "a", "imageID": "docker-pullable://registry/autopilot@sha256:ab"}]}})");
  ASSERT_TRUE(images);
  EXPECT_THAT(*images,
              ElementsAre(ContainerImage{"a", "registry/autopilot:1", "registry/autopilot@sha256:ab"},
                          ContainerImage{"b", "local:1", ""}, ContainerImage{"c", "x", ""}));
}

TEST(ContainerImages, of_a_pod_that_makes_no_sense_are_none) {
  EXPECT_FALSE(parse_container_images("[]"));
  EXPECT_FALSE(parse_container_images("{"));
  for (const char* pod : {"{}", R"({"spec": {"containers": [7]}, "status": {"containerStatuses": "x"}})"}) {
    const auto images = parse_container_images(pod);
    ASSERT_TRUE(images);
    EXPECT_THAT(*images, IsEmpty());
  }
}

}  // namespace

}  // namespace autopilot::kube
