// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/pod_resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "host/helpers/message.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The binary form of protobuf.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7U)
    bytes += static_cast<char>(number | 0x80U);
  return bytes + static_cast<char>(number);
}

std::string number_field(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}

std::string bytes_field(std::uint32_t number, std::string_view bytes) {
  return varint(number << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}

// "2=text", "3" for a number; "malformed" ends it.
std::vector<std::string> fields_of(std::string_view message) {
  ProtobufReader reader(message);
  std::vector<std::string> fields;
  while (true) {
    const auto field = reader.next();
    if (!field) {
      fields.emplace_back(to_string(field.error().code));
      return fields;
    }
    if (!*field) return fields;
    const ProtobufField& one = **field;
    fields.push_back(std::to_string(one.number) + (one.bytes ? "=" + std::string(*one.bytes) : ""));
  }
}

TEST(ProtobufReader, walks_over_every_kind_of_field) {
  const std::string eight = varint(4U << 3U | 1U) + std::string(8, 'x');
  const std::string four = varint(5U << 3U | 5U) + std::string(4, 'x');
  EXPECT_THAT(fields_of(bytes_field(2, "text") + number_field(3, std::numeric_limits<std::uint64_t>::max()) +
                        eight + four + bytes_field(536870911, "")),
              ElementsAre("2=text", "3", "4", "5", "536870911="));
  EXPECT_THAT(fields_of(""), ElementsAre());
}

TEST(ProtobufReader, refuses_what_is_no_message) {
  const std::vector<std::string> wrong = {
      varint(1U << 3U | 3U),  // a group begins
      varint(1U << 3U | 4U),  // or ends
      varint(1U << 3U | 6U),
      varint(1U << 3U | 7U),                        // no kind of field
      number_field(0, 1),                           // field 0
      varint(std::uint64_t{1} << 33U) + varint(0),  // a field beyond 2^29
      "\x08",                                       // no value
      "\x08\xff",                                   // half of one
      "\x08" + std::string(10, '\xff') + "\x01",    // of more than 64 bits
      "\x08" + std::string(9, '\xff') + "\x02",     // by one bit
      varint(1U << 3U | 1U) + "1234567",            // seven of eight bytes
      varint(1U << 3U | 5U) + "123",                // three of four
      varint(1U << 3U | 2U) + varint(5) + "text",   // longer than the rest
      varint(1U << 3U | 2U) + varint(std::numeric_limits<std::uint64_t>::max()) + "text",
  };
  for (const std::string& message : wrong)
    EXPECT_THAT(fields_of(message), ElementsAre("malformed")) << ::testing::PrintToString(message);
}

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

std::string named(std::string_view resource, std::string_view id) {
  const auto gpu = gpu_named_by(resource, id);
  if (!gpu) return "none";
  if (!gpu->uuid.empty()) return "uuid " + gpu->uuid;
  if (!gpu->instance_uuid.empty()) return "instance " + gpu->instance_uuid;
  if (gpu->minor) return "minor " + std::to_string(*gpu->minor);
  return "address " + gpu->pci_address;
}

TEST(GpuDeviceId, of_nvidias_plugin_is_the_uuid_with_or_without_a_replica) {
  EXPECT_EQ(named("nvidia.com/gpu", "GPU-5c2d1f4b-0e53-4a43-9d5a-6f2d8f6a1b2c"),
            "uuid GPU-5c2d1f4b-0e53-4a43-9d5a-6f2d8f6a1b2c");
  EXPECT_EQ(named("nvidia.com/gpu.shared", "GPU-5c2d1f4b-0e53-4a43-9d5a-6f2d8f6a1b2c::7"),
            "uuid GPU-5c2d1f4b-0e53-4a43-9d5a-6f2d8f6a1b2c");
}

TEST(GpuDeviceId, of_an_instance_names_its_gpu_only_in_the_old_form) {
  EXPECT_EQ(named("nvidia.com/mig-1g.10gb", "MIG-8f6a1b2c-0e53-4a43-9d5a-5c2d1f4b6f2d::0"),
            "instance MIG-8f6a1b2c-0e53-4a43-9d5a-5c2d1f4b6f2d");
  EXPECT_EQ(named("nvidia.com/gpu", "MIG-GPU-5c2d1f4b/9/0"), "uuid GPU-5c2d1f4b");
}

TEST(GpuDeviceId, of_amds_plugin_is_the_address) {
  EXPECT_EQ(named("amd.com/gpu", "0000:3b:00.0"), "address 0000:3b:00.0");
  EXPECT_EQ(named("amd.com/gpu", "0000:3B:00.0-slice-3"), "address 0000:3b:00.0");
  EXPECT_EQ(named("amd.com/gpu", "amdgpu_xcp_30"), "none");
}

TEST(GpuDeviceId, of_googles_plugin_is_the_name_of_the_file) {
  EXPECT_EQ(named("nvidia.com/gpu", "nvidia0"), "minor 0");
  EXPECT_EQ(named("nvidia.com/gpu", "nvidia12/gi3"), "minor 12");
  EXPECT_EQ(named("nvidia.com/gpu", "nvidia3/vgpu1"), "minor 3");
  EXPECT_EQ(named("nvidia.com/gpu", "nvidia"), "none");
  EXPECT_EQ(named("nvidia.com/gpu", "nvidia-3"), "none");
  EXPECT_EQ(named("nvidia.com/gpu", "nvidiactl"), "none");
}

TEST(GpuDeviceId, of_a_claim_is_the_minor_number) {
  EXPECT_EQ(named("gpu.nvidia.com", "gpu-5"), "minor 5");
  EXPECT_EQ(named("gpu.nvidia.com", "gpu-5-mig-9-4-4"), "minor 5");
  EXPECT_EQ(named("gpu.nvidia.com", "gpu-vfio-5"), "none");
  EXPECT_EQ(named("gpu.example.com", "gpu-5"), "none") << "nobody knows what this driver counts";
}

TEST(GpuDeviceId, of_other_devices_is_no_gpu) {
  for (const std::string_view id :
       {"", "7", "0:1", "1:2:3", "mlx5_0", "0000:3b:00", "renderD128", "::", "-slice-1"})
    EXPECT_EQ(named("rdma/hca", id), "none") << id;
}

}  // namespace
}  // namespace autopilot::host
