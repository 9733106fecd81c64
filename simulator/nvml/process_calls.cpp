// SPDX-License-Identifier: Apache-2.0
// Functions about the processes of one GPU, and its position among other GPUs.
#include <algorithm>

#include "core/parse.hpp"
#include "nvml/answers.hpp"

using namespace autopilot::simulator::nvml;
using autopilot::host::nvml::Device;
using autopilot::host::nvml::Return;

namespace {

constexpr unsigned kFirstPid = 4200;

// The numbers of `processes.pids`; arbitrary numbers if only the count is set.
std::vector<unsigned> pids_of(const GpuModelState& gpu, unsigned count) {
  std::vector<unsigned> pids;
  const auto found = gpu.readings.find("processes.pids");
  if (found != gpu.readings.end())
    if (const auto* value = std::get_if<autopilot::Value>(&found->second)) {
      const std::string words = autopilot::to_string(*value);
      for (const std::string_view word : autopilot::split_words(words))
        pids.push_back(autopilot::parse_number<unsigned>(word).value_or(0));
    }
  while (pids.size() < count)
    pids.push_back(kFirstPid + static_cast<unsigned>(pids.size()));
  pids.resize(count);
  return pids;
}

// "00112233-4455-..." as bytes.
void put_uuid(const Readings& readings, unsigned char* bytes) {
  const auto found = readings.find("fabric.cluster");
  if (found == readings.end() || !std::holds_alternative<autopilot::Value>(found->second)) return;
  std::string text = autopilot::to_string(std::get<autopilot::Value>(found->second));
  std::erase(text, '-');
  for (std::size_t i = 0; i < abi::kFabricUuidSize && 2 * i + 1 < text.size(); ++i)
    bytes[i] = static_cast<unsigned char>(
        autopilot::parse_hex<unsigned>(std::string_view(text).substr(2 * i, 2)).value_or(0));
}

// Fields that are not valid in this state are zero.
template <class Info>
Return put_fabric(const GpuModelState& gpu, Info& info) {
  const Return code = put(gpu.readings, "fabric.state", &info.state);
  if (code != abi::kSuccess) return code;
  static_cast<void>(put(gpu.readings, "fabric.status", &info.status));
  static_cast<void>(put(gpu.readings, "fabric.clique", &info.cliqueId));
  put_uuid(gpu.readings, info.clusterUuid);
  return abi::kSuccess;
}

}  // namespace

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count,
                                                                     abi::ProcessInfo* processes) {
  return session().with_gpu("nvmlDeviceGetComputeRunningProcesses_v3", device, [&](const GpuModelState& gpu) {
    if (count == nullptr) return abi::kInvalidArgument;
    const unsigned room = *count;
    if (const Return code = put(gpu.readings, "processes.count", count); code != abi::kSuccess) return code;
    if (*count > room) return abi::kInsufficientSize;
    const std::vector<unsigned> pids = pids_of(gpu, *count);
    for (unsigned i = 0; i < *count && processes != nullptr; ++i)
      processes[i] = {pids[i], 0, ~0U, ~0U};
    return abi::kSuccess;
  });
}

// No simulated machine has graphics processes.
AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count,
                                                                      abi::ProcessInfo*) {
  return session().with_gpu("nvmlDeviceGetGraphicsRunningProcesses_v3", device, [&](const GpuModelState&) {
    if (count == nullptr) return abi::kInvalidArgument;
    *count = 0;
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetGpuFabricInfo(Device device, abi::GpuFabricInfo* info) {
  return session().with_gpu("nvmlDeviceGetGpuFabricInfo", device, [&](const GpuModelState& gpu) {
    if (info == nullptr) return abi::kInvalidArgument;
    *info = {};
    return put_fabric(gpu, *info);
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetGpuFabricInfoV(Device device, abi::GpuFabricInfoV2* info) {
  return session().with_gpu("nvmlDeviceGetGpuFabricInfoV", device, [&](const GpuModelState& gpu) {
    if (info == nullptr) return abi::kInvalidArgument;
    if (info->version != abi::struct_version<abi::GpuFabricInfoV2>(2)) return abi::kArgumentVersionMismatch;
    const unsigned version = info->version;
    *info = {};
    info->version = version;
    static_cast<void>(put(gpu.readings, "fabric.health_mask", &info->healthMask));
    return put_fabric(gpu, *info);
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceValidateInforom(Device device) {
  return session().with_gpu("nvmlDeviceValidateInforom", device, [&](const GpuModelState& gpu) {
    unsigned valid = 0;
    const Return code = put(gpu.readings, "inforom.valid", &valid);
    if (code != abi::kSuccess) return code;
    return valid != 0 ? abi::kSuccess : abi::kCorruptedInforom;
  });
}
