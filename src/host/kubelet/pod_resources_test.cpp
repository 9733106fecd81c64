// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/pod_resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "host/helpers/frame.hpp"
#include "host/kubelet/protobuf_message.hpp"

namespace autopilot::host {
namespace {

using testing::bytes_field;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::number_field;

std::string devices(const std::string& resource, const std::vector<std::string>& ids) {
  std::string message = bytes_field(1, resource);
  for (const std::string& id : ids)
    message += bytes_field(2, id);
  // The NUMA nodes of the devices.
  return message + bytes_field(3, bytes_field(1, number_field(1, 1)));
}

std::string claim(const std::string& driver, const std::string& device) {
  const std::string resource = bytes_field(1, bytes_field(1, "k8s.gpu.nvidia.com/claim=x")) +
                               bytes_field(2, driver) + bytes_field(3, "node-1") + bytes_field(4, device);
  return bytes_field(2, "claim") + bytes_field(3, "ml") + bytes_field(4, resource);
}

std::string container(const std::string& name, const std::string& parts) {
  // The CPUs, packed, and a piece of memory.
  return bytes_field(1, name) + parts + bytes_field(3, "\x01\x02") + bytes_field(4, bytes_field(1, "memory"));
}

std::string pod(const std::string& name, const std::string& containers) {
  return bytes_field(1, bytes_field(1, name) + bytes_field(2, "ml") + containers);
}

std::vector<std::string> words(const PodResources& resources) {
  std::vector<std::string> result;
  for (const HeldDevices& held : resources.held) {
    std::string word = held.pod_namespace + "/" + held.pod + "/" + held.container + " " + held.resource + ":";
    for (const std::string& id : held.ids)
      word.append(" ").append(id);
    result.push_back(word);
  }
  return result;
}

TEST(PodResources, are_those_of_plugins_and_of_claims) {
  const std::string message =
      pod("train-0",
          bytes_field(3, container("main", bytes_field(2, devices("nvidia.com/gpu", {"GPU-1", "GPU-2"})) +
                                               bytes_field(2, devices("nvidia.com/gpu", {"GPU-3"})) +
                                               bytes_field(2, devices("rdma/hca", {"7"})))) +
              bytes_field(3, container("sidecar", ""))) +
      pod("claims-0", bytes_field(3, container("main", bytes_field(5, claim("gpu.nvidia.com", "gpu-4")))));
  const auto resources = parse_pod_resources(message);
  ASSERT_TRUE(resources) << resources.error().what;
  EXPECT_THAT(words(*resources),
              ElementsAre("ml/train-0/main nvidia.com/gpu: GPU-1 GPU-2 GPU-3", "ml/train-0/main rdma/hca: 7",
                          "ml/claims-0/main gpu.nvidia.com: gpu-4"));
  EXPECT_EQ(resources->left_out, 0U);
}

TEST(PodResources, may_have_their_fields_in_any_order_and_more_of_them) {
  const std::string devices =
      bytes_field(2, "GPU-1") + number_field(99, 1) + bytes_field(1, "nvidia.com/gpu");
  const std::string container = bytes_field(2, devices) + bytes_field(98, "new") + bytes_field(1, "main");
  const std::string pod =
      bytes_field(3, container) + bytes_field(2, "ml") + number_field(97, 7) + bytes_field(1, "train-0");
  const auto resources = parse_pod_resources(bytes_field(96, "new") + bytes_field(1, pod));
  ASSERT_TRUE(resources) << resources.error().what;
  EXPECT_THAT(words(*resources), ElementsAre("ml/train-0/main nvidia.com/gpu: GPU-1"));
}

TEST(PodResources, of_nobody_are_none) {
  EXPECT_THAT(parse_pod_resources("").value().held, IsEmpty());
  EXPECT_THAT(parse_pod_resources(pod("idle", bytes_field(3, container("main", "")))).value().held,
              IsEmpty());
  EXPECT_THAT(parse_pod_resources(pod("empty", "")).value().held, IsEmpty());
}

TEST(PodResources, with_names_that_are_none_are_refused_or_left_out) {
  EXPECT_EQ(parse_pod_resources(pod("", "")).error().code, Errc::malformed);
  EXPECT_EQ(parse_pod_resources(pod("a\nb", "")).error().code, Errc::malformed);
  EXPECT_EQ(parse_pod_resources(pod(std::string(321, 'x'), "")).error().code, Errc::malformed);
  EXPECT_EQ(parse_pod_resources(pod("p", bytes_field(3, container("", "")))).error().code, Errc::malformed);
  const auto resources = parse_pod_resources(pod(
      "p",
      bytes_field(3, container("main", bytes_field(2, devices("x/y", {"", "\x01", "a b", "\"", "good"}))))));
  ASSERT_TRUE(resources) << resources.error().what;
  EXPECT_THAT(words(*resources), ElementsAre("ml/p/main x/y: good"));
  EXPECT_EQ(resources->left_out, 4U);
}

TEST(PodResources, that_are_cut_off_anywhere_are_refused) {
  const std::string whole =
      pod("train-0", bytes_field(3, container("main", bytes_field(2, devices("nvidia.com/gpu", {"GPU-1"})))));
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_FALSE(parse_pod_resources(std::string_view(whole).substr(0, size))) << size;
}

TEST(PodResources, have_limits) {
  std::string pods;
  for (std::size_t i = 0; i <= PodResources::kMaxPods; ++i)
    pods += pod("p", "");
  EXPECT_EQ(parse_pod_resources(pods).error().code, Errc::exhausted);

  const std::vector<std::string> many(PodResources::kMaxIds + 3, "id");
  const auto ids =
      parse_pod_resources(pod("p", bytes_field(3, container("c", bytes_field(2, devices("x/y", many))))));
  EXPECT_EQ(ids.value().held.at(0).ids.size(), PodResources::kMaxIds);
  EXPECT_EQ(ids.value().left_out, 3U);

  std::string containers;
  for (std::size_t i = 0; i < PodResources::kMaxHeld + 2; ++i)
    containers += bytes_field(3, container("c", bytes_field(2, devices("x/y", {"id"}))));
  const auto held = parse_pod_resources(pod("p", containers));
  EXPECT_EQ(held.value().held.size(), PodResources::kMaxHeld);
  EXPECT_EQ(held.value().left_out, 2U);
}

PodResources sample() {
  return {.held = {{"ml", "train-0", "main", "nvidia.com/gpu", {"GPU-1::2", "GPU-2"}},
                   {"ml", "claims-0", "main", "gpu.nvidia.com", {"gpu-4"}}},
          .left_out = 3};
}

TEST(PodResourcesAnswer, survives_the_way_there_and_back) {
  for (const PodResources& resources : {sample(), PodResources{}})
    EXPECT_EQ(parse_pod_resources_answer(format_pod_resources(resources)).value(), resources);
}

TEST(PodResourcesAnswer, fits_into_a_frame_whatever_there_is) {
  PodResources much;
  const std::string name(PodResources::kMaxName, 'x');
  much.held.assign(PodResources::kMaxHeld, {name, name, name, name, {name}});
  const std::string text = format_pod_resources(much);
  EXPECT_LT(text.size(), kMaxFrame - 1024);
  const auto back = parse_pod_resources_answer(text);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_GT(back->held.size(), 500U);
  EXPECT_EQ(back->held.size() + back->left_out, PodResources::kMaxHeld);
}

TEST(PodResourcesAnswer, that_no_helper_of_ours_gives_is_refused) {
  const std::string long_name(321, 'x');
  for (
      const std::string& text :
      {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"held":[],"leftOut":-1})"),
       std::string(R"({"held":[],"leftOut":"3"})"), std::string(R"({"held":{},"leftOut":0})"),
       std::string(R"({"held":[1],"leftOut":0})"),
       std::string(
           R"({"held":[{"namespace":"ml","pod":"","container":"c","resource":"r","ids":[]}],"leftOut":0})"),
       std::string(R"({"held":[{"namespace":"ml","pod":"p","container":"c","resource":"r"}],"leftOut":0})"),
       std::string(
           R"({"held":[{"namespace":"ml","pod":"p","container":"c","resource":"r","ids":[7]}],"leftOut":0})"),
       R"({"held":[{"namespace":"ml","pod":"p","container":"c","resource":"r","ids":[")" + long_name +
           R"("]}],"leftOut":0})"}) {
    const auto parsed = parse_pod_resources_answer(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::malformed) << text;
  }
}

}  // namespace
}  // namespace autopilot::host
