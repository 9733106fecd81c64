// SPDX-License-Identifier: Apache-2.0
// Functions about one GPU, its instances and its processes. Most return a reading.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "core/parse.hpp"
#include "nvml/session.hpp"

using namespace autopilot::simulator::nvml;
using autopilot::host::nvml::Device;
using autopilot::host::nvml::Return;

namespace {

constexpr double kMilli = 1000;
constexpr double kPercent = 100;

unsigned long long now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

void fill_pci(const std::string& address, std::uint32_t device_id, std::uint32_t subsystem_id,
              abi::PciInfo& pci) {
  pci = {};
  const auto part = [&](std::size_t at, std::size_t size) {
    return autopilot::parse_hex<unsigned>(std::string_view(address).substr(at, size)).value_or(0);
  };
  pci.domain = part(0, 4);
  pci.bus = part(5, 2);
  pci.device = part(8, 2);
  pci.pciDeviceId = device_id;
  pci.pciSubSystemId = subsystem_id;
  std::snprintf(pci.busIdLegacy, sizeof(pci.busIdLegacy), "%04X:%02X:%02X.0", pci.domain & 0xffffU,
                pci.bus & 0xffU, pci.device & 0xffU);
  std::snprintf(pci.busId, sizeof(pci.busId), "%08X:%02X:%02X.0", pci.domain, pci.bus & 0xffU,
                pci.device & 0xffU);
}

// A mode and its pending value, which are equal here.
Return answer_mode(const char* function, Device device, std::string_view reading, unsigned* current,
                   unsigned* pending) {
  return session().with_gpu(function, device, [&](const GpuModelState& gpu) {
    const Return code = put(gpu.readings, reading, current);
    return code != abi::kSuccess ? code : put(gpu.readings, reading, pending);
  });
}

}  // namespace

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetUUID(Device device, char* text, unsigned size) {
  return session().with_gpu("nvmlDeviceGetUUID", device, [&](const GpuModelState& gpu) {
    if (!device->instance) return put_text(gpu.uuid, text, size);
    const InstanceState* instance = gpu.instance(*device->instance);
    return instance == nullptr ? abi::kNotFound : put_text(instance->uuid, text, size);
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetSerial(Device device, char* text, unsigned size) {
  return session().with_gpu("nvmlDeviceGetSerial", device,
                            [&](const GpuModelState& gpu) { return put_text(gpu.serial, text, size); });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetName(Device device, char* text, unsigned size) {
  return session().with_gpu("nvmlDeviceGetName", device,
                            [&](const GpuModelState& gpu) { return put_text(gpu.name, text, size); });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetVbiosVersion(Device device, char* text, unsigned size) {
  return session().with_gpu("nvmlDeviceGetVbiosVersion", device,
                            [&](const GpuModelState& gpu) { return put_text(gpu.vbios, text, size); });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetIndex(Device device, unsigned* index) {
  return session().with_gpu("nvmlDeviceGetIndex", device, [&](const GpuModelState&) {
    if (index == nullptr) return abi::kInvalidArgument;
    *index = 0;
    for (const Device known : session().devices()) {
      if (known == device) return abi::kSuccess;
      ++*index;
    }
    return abi::kNotFound;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetPciInfo_v3(Device device, abi::PciInfo* pci) {
  return session().with_gpu("nvmlDeviceGetPciInfo_v3", device, [&](const GpuModelState& gpu) {
    if (pci == nullptr) return abi::kInvalidArgument;
    fill_pci(gpu.address, gpu.pci_device_id, gpu.pci_subsystem_id, *pci);
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMinorNumber(Device device, unsigned* minor) {
  return answer("nvmlDeviceGetMinorNumber", device, "minor", minor);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetPersistenceMode(Device device, unsigned* mode) {
  return answer("nvmlDeviceGetPersistenceMode", device, "persistence", mode);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  return answer_mode("nvmlDeviceGetMigMode", device, "mig", current, pending);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetPerformanceState(Device device, unsigned* state) {
  return answer("nvmlDeviceGetPerformanceState", device, "performance_state", state);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned* celsius) {
  if (sensor != abi::kTemperatureGpu) return abi::kInvalidArgument;
  return answer("nvmlDeviceGetTemperature", device, "temperature.gpu", celsius);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetTemperatureV(Device device, abi::Temperature* temperature) {
  if (temperature == nullptr) return abi::kInvalidArgument;
  if (temperature->version != abi::struct_version<abi::Temperature>(1)) return abi::kArgumentVersionMismatch;
  return answer("nvmlDeviceGetTemperatureV", device, "temperature.gpu", &temperature->temperature);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetTemperatureThreshold(Device device, unsigned threshold,
                                                               unsigned* celsius) {
  constexpr std::array readings{"temperature.shutdown", "temperature.slowdown", "temperature.memory_max",
                                "temperature.gpu_max"};
  if (threshold >= readings.size()) return abi::kNotSupported;
  return answer("nvmlDeviceGetTemperatureThreshold", device, readings[threshold], celsius);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMarginTemperature(Device device, abi::MarginTemperature* margin) {
  if (margin == nullptr) return abi::kInvalidArgument;
  if (margin->version != abi::struct_version<abi::MarginTemperature>(1)) return abi::kArgumentVersionMismatch;
  return answer("nvmlDeviceGetMarginTemperature", device, "temperature.margin", &margin->marginTemperature);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return answer("nvmlDeviceGetPowerUsage", device, "power.usage", milliwatts, kMilli);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return answer("nvmlDeviceGetEnforcedPowerLimit", device, "power.limit", milliwatts, kMilli);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetPowerManagementLimit(Device device, unsigned* milliwatts) {
  return answer("nvmlDeviceGetPowerManagementLimit", device, "power.limit", milliwatts, kMilli);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* milliwatts) {
  return answer("nvmlDeviceGetPowerManagementDefaultLimit", device, "power.limit_default", milliwatts,
                kMilli);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetClockInfo(Device device, unsigned clock, unsigned* megahertz) {
  if (clock > abi::kClockVideo) return abi::kInvalidArgument;
  return answer("nvmlDeviceGetClockInfo", device, clock == abi::kClockMem ? "clocks.memory" : "clocks.sm",
                megahertz);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMaxClockInfo(Device device, unsigned clock, unsigned* megahertz) {
  if (clock > abi::kClockVideo) return abi::kInvalidArgument;
  return answer("nvmlDeviceGetMaxClockInfo", device,
                clock == abi::kClockMem ? "clocks.memory_max" : "clocks.sm_max", megahertz);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetCurrentClocksEventReasons(Device device,
                                                                    unsigned long long* reasons) {
  return answer("nvmlDeviceGetCurrentClocksEventReasons", device, "clocks.event_reasons", reasons);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device,
                                                                       unsigned long long* reasons) {
  return answer("nvmlDeviceGetCurrentClocksThrottleReasons", device, "clocks.event_reasons", reasons);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetViolationStatus(Device device, unsigned policy,
                                                          abi::ViolationTime* time) {
  if (time == nullptr) return abi::kInvalidArgument;
  constexpr std::array readings{
      "throttle.power_cap",  "throttle.thermal", "throttle.sync_boost", "throttle.board_limit", "",
      "throttle.reliability"};
  if (policy >= readings.size()) return abi::kNotSupported;
  time->referenceTime = now_us();
  return answer("nvmlDeviceGetViolationStatus", device, readings[policy], &time->violationTime);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetUtilizationRates(Device device, abi::Utilization* rates) {
  if (rates == nullptr) return abi::kInvalidArgument;
  rates->memory = 0;
  return answer("nvmlDeviceGetUtilizationRates", device, "utilization", &rates->gpu, kPercent);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMemoryInfo(Device device, abi::Memory* memory) {
  return session().with_gpu("nvmlDeviceGetMemoryInfo", device, [&](const GpuModelState& gpu) {
    if (memory == nullptr) return abi::kInvalidArgument;
    if (const Return code = put(gpu.readings, "memory.total", &memory->total); code != abi::kSuccess)
      return code;
    if (const Return code = put(gpu.readings, "memory.used", &memory->used); code != abi::kSuccess)
      return code;
    memory->free = memory->total - memory->used;
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* lanes) {
  return answer("nvmlDeviceGetCurrPcieLinkWidth", device, "pcie.width", lanes);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* lanes) {
  return answer("nvmlDeviceGetMaxPcieLinkWidth", device, "pcie.width_max", lanes);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return answer("nvmlDeviceGetCurrPcieLinkGeneration", device, "pcie.generation", generation);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  return answer("nvmlDeviceGetMaxPcieLinkGeneration", device, "pcie.generation_max", generation);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetPcieReplayCounter(Device device, unsigned* count) {
  return answer("nvmlDeviceGetPcieReplayCounter", device, "pcie.replays", count);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetMemoryInfo_v2(Device device, abi::MemoryV2* memory) {
  if (memory == nullptr) return abi::kInvalidArgument;
  if (memory->version != abi::struct_version<abi::MemoryV2>(2)) return abi::kArgumentVersionMismatch;
  abi::Memory all{};
  const Return code = nvmlDeviceGetMemoryInfo(device, &all);
  memory->total = all.total;
  memory->reserved = 0;
  memory->free = all.free;
  memory->used = all.used;
  return code;
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* active) {
  return answer_link("nvmlDeviceGetNvLinkState", device, link, "nvlink.active", active);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetNvLinkVersion(Device device, unsigned link, unsigned* version) {
  return answer_link("nvmlDeviceGetNvLinkVersion", device, link, "nvlink.version", version);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link,
                                                                 abi::PciInfo* pci) {
  return session().with_gpu("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, [&](const GpuModelState& gpu) {
    if (pci == nullptr || (!gpu.links.empty() && link >= gpu.links.size())) return abi::kInvalidArgument;
    if (gpu.links.empty()) return abi::kNotSupported;
    const auto found = gpu.links[link].find("nvlink.remote");
    if (found == gpu.links[link].end()) return abi::kNotSupported;
    if (const int* code = std::get_if<int>(&found->second)) return *code;
    fill_pci(autopilot::to_string(std::get<autopilot::Value>(found->second)), 0, 0, *pci);
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, unsigned counter,
                                                             unsigned long long* count) {
  constexpr std::array readings{"nvlink.replays", "nvlink.recoveries", "nvlink.crc_errors"};
  if (counter >= readings.size()) return abi::kNotSupported;
  return answer_link("nvmlDeviceGetNvLinkErrorCounter", device, link, readings[counter], count);
}

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
