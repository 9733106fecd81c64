// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/idle_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

kube::Node node_with(kube::Devices allocatable) {
  kube::Node node;
  node.meta.name = "gpu-7";
  node.allocatable = std::move(allocatable);
  return node;
}

kube::Pod pod_with(std::string name, std::string phase, kube::Devices devices) {
  kube::Pod pod;
  pod.meta.name = std::move(name);
  pod.meta.name_space = "ml";
  pod.node = "gpu-7";
  pod.phase = std::move(phase);
  pod.devices = std::move(devices);
  return pod;
}

const kube::Node kEight = node_with({{"cpu", 96}, {"nvidia.com/gpu", 8}, {"rdma/hca", 8}});

TEST(IdleGpus, a_node_that_nobody_uses_is_idle) {
  const std::vector<kube::Pod> pods{pod_with("web", "Running", {{"cpu", 4}, {"rdma/hca", 1}})};
  const AcceleratorUse use = accelerator_use(kEight, pods);
  EXPECT_TRUE(use.is_idle());
  EXPECT_THAT(use.whole, ElementsAre(Pair("nvidia.com/gpu", 8)));
  EXPECT_THAT(use.parts, IsEmpty());
  EXPECT_FALSE(use.is_divided);
}

TEST(IdleGpus, who_holds_one_is_named) {
  const std::vector<kube::Pod> pods{pod_with("train-1", "Running", {{"nvidia.com/gpu", 4}, {"cpu", 2}}),
                                    pod_with("train-0", "Running", {{"nvidia.com/gpu", 1}})};
  const AcceleratorUse use = accelerator_use(kEight, pods);
  EXPECT_FALSE(use.is_idle());
  EXPECT_THAT(use.holders, ElementsAre("ml/train-0 (nvidia.com/gpu 1)", "ml/train-1 (nvidia.com/gpu 4)"));
}

TEST(IdleGpus, a_pod_holds_from_its_binding_to_its_end) {
  for (const std::string phase : {"Pending", "Running", "Unknown"})
    EXPECT_FALSE(
        accelerator_use(kEight, std::vector{pod_with("a", phase, {{"nvidia.com/gpu", 1}})}).is_idle())
        << phase;
  for (const std::string phase : {"Succeeded", "Failed"})
    EXPECT_TRUE(accelerator_use(kEight, std::vector{pod_with("a", phase, {{"nvidia.com/gpu", 1}})}).is_idle())
        << phase;
  kube::Pod ending = pod_with("a", "Running", {{"nvidia.com/gpu", 1}});
  ending.meta.is_deleting = true;
  EXPECT_FALSE(accelerator_use(kEight, std::vector{ending}).is_idle());
}

TEST(IdleGpus, none_asked_for_is_none_held) {
  EXPECT_TRUE(
      accelerator_use(kEight, std::vector{pod_with("agent", "Running", {{"nvidia.com/gpu", 0}})}).is_idle());
}

TEST(IdleGpus, a_claim_holds_an_unknown_number) {
  kube::Pod pod = pod_with("dra", "Running", {});
  pod.device_claims = {"gpus"};
  EXPECT_THAT(accelerator_use(kEight, std::vector{pod}).holders, ElementsAre("ml/dra (by a claim)"));
}

TEST(IdleGpus, slices_shares_and_other_vendors_are_seen) {
  const kube::Node node = node_with({{"nvidia.com/gpu", 4},
                                     {"nvidia.com/gpu.shared", 20},
                                     {"nvidia.com/mig-1g.10gb", 14},
                                     {"nvidia.com/hostdev", 2},
                                     {"amd.com/gpu", 8},
                                     {"amd.com/cpx_nps4", 64},
                                     {"gpu.intel.com/i915", 2},
                                     {"gpu.intel.com/i915_monitoring", 1},
                                     {"habana.ai/gaudi", 8},
                                     {"google.com/tpu", 4},
                                     {"aws.amazon.com/neuron", 16},
                                     {"aws.amazon.com/neuroncore", 32}});
  const AcceleratorUse use = accelerator_use(node, {});
  EXPECT_THAT(use.whole, UnorderedElementsAre(Pair("nvidia.com/gpu", 4), Pair("amd.com/gpu", 8),
                                              Pair("gpu.intel.com/i915", 2), Pair("habana.ai/gaudi", 8),
                                              Pair("google.com/tpu", 4), Pair("aws.amazon.com/neuron", 16)));
  EXPECT_THAT(use.parts,
              UnorderedElementsAre(Pair("nvidia.com/gpu.shared", 20), Pair("nvidia.com/mig-1g.10gb", 14),
                                   Pair("amd.com/cpx_nps4", 64), Pair("aws.amazon.com/neuroncore", 32)));
  for (const std::string resource : {"nvidia.com/mig-1g.10gb", "amd.com/gpu", "gpu.intel.com/xe",
                                     "habana.ai/gaudi", "google.com/tpu", "aws.amazon.com/neuroncore"})
    EXPECT_FALSE(accelerator_use(node, std::vector{pod_with("a", "Running", {{resource, 1}})}).is_idle())
        << resource;
  EXPECT_TRUE(accelerator_use(node, std::vector{pod_with(
                                        "exporter", "Running",
                                        {{"gpu.intel.com/i915_monitoring", 1}, {"nvidia.com/hostdev", 1}})})
                  .is_idle());
}

TEST(IdleGpus, a_gpu_may_be_a_share_under_the_plain_name) {
  for (const std::string product : {"NVIDIA-A100-SXM4-80GB-SHARED", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}) {
    kube::Node node = kEight;
    node.meta.labels["nvidia.com/gpu.product"] = product;
    EXPECT_TRUE(accelerator_use(node, {}).is_divided) << product;
  }
}

TEST(IdleGpus, without_accelerators_nothing_is_idle) {
  EXPECT_FALSE(accelerator_use(node_with({{"cpu", 8}}), {}).is_idle());
  EXPECT_FALSE(accelerator_use(node_with({{"nvidia.com/gpu", 0}}), {}).is_idle());
}

TEST(IdleGpus, own_pods_do_not_count) {
  const std::vector<kube::Pod> pods{pod_with("test", "Running", {{"nvidia.com/gpu", 8}})};
  EXPECT_TRUE(
      accelerator_use(kEight, pods, [](const kube::Pod& pod) { return pod.meta.name == "test"; }).is_idle());
}

}  // namespace
}  // namespace autopilot::diagnostics
