// SPDX-License-Identifier: Apache-2.0
// Functions about the instances of a divided GPU.
#include "nvml/answers.hpp"

using namespace autopilot::simulator::nvml;
using autopilot::host::nvml::Device;
using autopilot::host::nvml::Return;

namespace {

// The value that NVIDIA's library returns for every GPU that can be divided.
constexpr unsigned kMostInstances = 7;

Return answer_instance(const char* function, Device device, unsigned InstanceState::*number,
                       unsigned* target) {
  if (target == nullptr) return abi::kInvalidArgument;
  return session().with_instance(function, device, [&](const InstanceState& instance) {
    *target = instance.*number;
    return abi::kSuccess;
  });
}

}  // namespace

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  if (count == nullptr) return abi::kInvalidArgument;
  return session().with_gpu("nvmlDeviceGetMaxMigDeviceCount", device, [&](const GpuModelState&) {
    *count = kMostInstances;
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index,
                                                                 Device* instance) {
  if (instance == nullptr || index >= kMostInstances) return abi::kInvalidArgument;
  return session().with_gpu("nvmlDeviceGetMigDeviceHandleByIndex", device, [&](const GpuModelState& gpu) {
    if (index >= gpu.instances.size()) return abi::kNotFound;
    *instance = session().handle(gpu.address, index);
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetGpuInstanceId(Device device, unsigned* id) {
  return answer_instance("nvmlDeviceGetGpuInstanceId", device, &InstanceState::gpu_instance, id);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetComputeInstanceId(Device device, unsigned* id) {
  return answer_instance("nvmlDeviceGetComputeInstanceId", device, &InstanceState::compute_instance, id);
}
