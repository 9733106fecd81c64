// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/gpu_device_id.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

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
