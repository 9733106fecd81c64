// SPDX-License-Identifier: Apache-2.0
// A driver library of three GPUs for the tests of the NVML backend: small, and wrong if a test requests it.
// The environment variable FAKE_NVML defines its behaviour, as a list of words:
//   init=18    nvmlInit_v2 answers 18      count=999  so does nvmlDeviceGetCount_v2
//   handle1=15 index 1 gives no handle     temperature=3  the temperature of GPU 0 answers 3
//   hidden=1   the last GPU is not listed and not known by its address
//   inforom=14 so does nvmlDeviceValidateInforom
//   link=6     version of the one NVLink   ber=2000  field 222 of it
//   hang, abort  nvmlDeviceGetCount_v2 never returns, or ends the process
// Builds: FAKE_LACKS_REQUIRED leaves out nvmlDeviceGetName, FAKE_ONLY_REQUIRED every optional function.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <unistd.h>

#include "host/gpu/nvml_abi.h"

using namespace autopilot::host::nvml;

namespace {

constexpr unsigned kGpus = 3;
int g_gpus[kGpus];
constexpr unsigned kInstances = 2;
int g_instances[kInstances];  // of the first GPU, where "mig=1"

std::string conduct() {
  const char* text = std::getenv("FAKE_NVML");
  return text != nullptr ? std::string(",") + text + "," : ",";
}

Return told(const std::string& call) {
  const std::string all = conduct();
  const auto at = all.find("," + call + "=");
  return at == std::string::npos ? kSuccess : std::atoi(all.c_str() + at + call.size() + 2);
}

std::optional<unsigned> instance_of(Device device) {
  for (unsigned i = 0; i < kInstances; ++i)
    if (reinterpret_cast<int*>(device) == &g_instances[i]) return i;
  return std::nullopt;
}

unsigned index_of(Device device) {
  return static_cast<unsigned>(reinterpret_cast<int*>(device) - g_gpus);
}

Return print(char* text, unsigned size, const std::string& word) {
  if (word.size() >= size) return kInsufficientSize;
  std::memcpy(text, word.c_str(), word.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  return told("init");
}
Return nvmlShutdown() {
  return kSuccess;
}
const char* nvmlErrorString(Return) {
  return "the fake says no";
}
Return nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return print(text, size, "535.0\x01");
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  if (conduct().find(",hang,") != std::string::npos)
    for (;;)
      pause();
  if (conduct().find(",abort,") != std::string::npos) std::abort();
  *count = kGpus - static_cast<unsigned>(told("hidden"));
  return told("count");
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= kGpus) return kInvalidArgument;
  *device = reinterpret_cast<Device>(&g_gpus[index]);
  return told("handle" + std::to_string(index));
}
Return nvmlDeviceGetUUID(Device device, char* text, unsigned size) {
  if (const auto instance = instance_of(device)) return print(text, size, "MIG-" + std::to_string(*instance));
  return print(text, size, "GPU-0000000" + std::to_string(index_of(device)));
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  std::snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0", 0x1b + index_of(device));
  return kSuccess;
}
#ifndef FAKE_LACKS_REQUIRED
Return nvmlDeviceGetName(Device, char* text, unsigned size) {
  return print(text, size, "Fake H100");
}
#endif

#ifndef FAKE_ONLY_REQUIRED
Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12040;
  return kSuccess;
}
Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  for (unsigned i = 0; i < kGpus - static_cast<unsigned>(told("hidden")); ++i) {
    char known[32];
    std::snprintf(known, sizeof(known), "0000:%02x:00.0", 0x1b + i);
    if (std::strcmp(known, bus_id) == 0) return nvmlDeviceGetHandleByIndex_v2(i, device);
  }
  return kNotFound;
}
Return nvmlDeviceGetTemperature(Device device, unsigned, unsigned* celsius) {
  *celsius = 40 + index_of(device);
  return index_of(device) == 0 ? told("temperature") : kSuccess;
}
Return nvmlDeviceGetTemperatureThreshold(Device, unsigned threshold, unsigned* celsius) {
  *celsius = 90 + threshold;
  return kSuccess;
}
Return nvmlDeviceGetFieldValues(Device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].nvmlReturn = kNotSupported;
    if (values[i].fieldId == kFieldPerfPolicyPower) {
      values[i].nvmlReturn = kSuccess;
      values[i].valueType = kValueUnsignedLongLong;
      values[i].value.ullVal = ~0ULL;
    } else if (values[i].fieldId == kFieldRecoveryAction) {
      values[i].nvmlReturn = kSuccess;
      values[i].valueType = kValueUnsignedInt;
      values[i].value.ullVal = ~0ULL;
      values[i].value.uiVal = kRecoveryNodeReboot;
    } else if (values[i].fieldId == kFieldNvLinkSymbolBer) {
      values[i].nvmlReturn = kSuccess;
      values[i].valueType = kValueUnsignedLongLong;
      values[i].value.ullVal = static_cast<unsigned long long>(told("ber"));
    } else if (values[i].fieldId >= kFieldsNvLinkCrcFlit[0] && values[i].fieldId <= 59) {
      values[i].nvmlReturn = kSuccess;
      values[i].valueType = kValueUnsignedLongLong;
      values[i].value.ullVal = values[i].fieldId;
    }
  }
  return kSuccess;
}
Return nvmlDeviceGetNvLinkState(Device, unsigned link, unsigned* active) {
  *active = 1;
  return link == 0 && told("link") != 0 ? kSuccess : kInvalidArgument;
}
Return nvmlDeviceGetNvLinkVersion(Device, unsigned, unsigned* version) {
  *version = static_cast<unsigned>(told("link"));
  return kSuccess;
}
Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  *current = *pending = index_of(device) == 0 ? static_cast<unsigned>(told("mig")) : kMigDisabled;
  return kSuccess;
}
Return nvmlDeviceGetMaxMigDeviceCount(Device, unsigned* count) {
  *count = 7;
  return kSuccess;
}
// The places that are taken need not be the first ones.
Return nvmlDeviceGetMigDeviceHandleByIndex(Device, unsigned index, Device* instance) {
  if (index % 2 == 0 || index / 2 >= kInstances) return kNotFound;
  *instance = reinterpret_cast<Device>(&g_instances[index / 2]);
  return kSuccess;
}
Return nvmlDeviceGetGpuInstanceId(Device instance, unsigned* id) {
  *id = 5 + instance_of(instance).value_or(0);
  return kSuccess;
}
Return nvmlDeviceGetComputeInstanceId(Device instance, unsigned* id) {
  *id = 0;
  return instance_of(instance).value_or(0) == 1 ? told("compute_instance") : kSuccess;
}
Return nvmlDeviceValidateInforom(Device) {
  return told("inforom");
}
// The old call only, as before driver 550.
Return nvmlDeviceGetGpuFabricInfo(Device device, GpuFabricInfo* info) {
  *info = {};
  info->clusterUuid[0] = 0xab;
  info->cliqueId = 7;
  info->state = static_cast<unsigned char>(index_of(device) == 0 ? kFabricInProgress : kFabricCompleted);
  info->status = kUnknown;
  return kSuccess;
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device, unsigned* count, ProcessInfo* processes) {
  constexpr unsigned kProcesses = 80;
  const unsigned room = *count;
  *count = kProcesses;
  if (room < kProcesses) return kInsufficientSize;
  for (unsigned i = 0; i < kProcesses; ++i)
    processes[i] = {5000 - i, 0, ~0U, ~0U};
  return kSuccess;
}
Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device, unsigned* count, ProcessInfo* processes) {
  *count = 1;
  processes[0] = {5000, 0, ~0U, ~0U};  // it draws as well
  return kSuccess;
}
Return nvmlDeviceGetMemoryInfo(Device, Memory* memory) {
  *memory = {100, 60, 40};
  return kSuccess;
}
Return nvmlEventSetCreate(EventSet* set) {
  static int events;
  *set = reinterpret_cast<EventSet>(&events);
  return told("nvmlEventSetCreate");
}
Return nvmlDeviceRegisterEvents(Device, unsigned long long, EventSet) {
  return told("nvmlDeviceRegisterEvents");
}
Return nvmlEventSetWait_v2(EventSet, EventData* data, unsigned) {
  static bool pending = true;
  if (const Return code = told("nvmlEventSetWait_v2"); code != kSuccess) return code;
  if (!pending) return kTimeout;
  pending = false;
  data->device = reinterpret_cast<Device>(&g_gpus[2]);
  data->eventType = kEventXidCriticalError;
  data->eventData = 79;
  return kSuccess;
}
Return nvmlEventSetFree(EventSet) {
  return kSuccess;
}
#endif

}  // extern "C"
