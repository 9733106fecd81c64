// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_instances.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace autopilot::host {
namespace {

std::optional<GpuInstance> read_instance(NvmlLibrary& library, nvml::Device instance) {
  const nvml::Functions& functions = library.functions();
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  std::array<char, nvml::kDeviceUuidSize> uuid{};
  const bool is_told =
      library.call(functions.nvmlDeviceGetGpuInstanceId, instance, &gpu_instance) == nvml::kSuccess &&
      library.call(functions.nvmlDeviceGetComputeInstanceId, instance, &compute_instance) == nvml::kSuccess &&
      library.call(functions.nvmlDeviceGetUUID, instance, uuid.data(), nvml::kDeviceUuidSize) ==
          nvml::kSuccess;
  if (!is_told) return std::nullopt;
  return GpuInstance{.gpu_instance = static_cast<int>(gpu_instance),
                     .compute_instance = static_cast<int>(compute_instance),
                     .uuid = driver_text(uuid.data(), uuid.size())};
}

}  // namespace

std::vector<GpuInstance> read_instances(NvmlLibrary& library, nvml::Device gpu) {
  const nvml::Functions& functions = library.functions();
  unsigned most = 0;
  if (library.call(functions.nvmlDeviceGetMaxMigDeviceCount, gpu, &most) != nvml::kSuccess) return {};
  std::vector<GpuInstance> instances;
  for (unsigned i = 0; i < std::min<unsigned>(most, GpuInstance::kMost); ++i) {
    nvml::Device instance = nullptr;
    // Not every number is taken.
    if (library.call(functions.nvmlDeviceGetMigDeviceHandleByIndex, gpu, i, &instance) != nvml::kSuccess)
      continue;
    if (auto found = read_instance(library, instance)) instances.push_back(std::move(*found));
  }
  return instances;
}

}  // namespace autopilot::host
