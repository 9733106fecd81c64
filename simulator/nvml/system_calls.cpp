// SPDX-License-Identifier: Apache-2.0
// Functions about the driver as a whole, and from an index to a handle.
#include <chrono>
#include <thread>

#include "core/subject.hpp"
#include "nvml/session.hpp"

using namespace autopilot::simulator::nvml;
using autopilot::host::nvml::Device;
using autopilot::host::nvml::EventData;
using autopilot::host::nvml::EventSet;
using autopilot::host::nvml::EventSetTag;
using autopilot::host::nvml::Return;

AUTOPILOT_NVML_EXPORT Return nvmlInit_v2() {
  if (const Return code = session().enter("nvmlInit_v2"); code != abi::kSuccess) return code;
  return session().init();
}

AUTOPILOT_NVML_EXPORT Return nvmlInit() {
  return nvmlInit_v2();
}

AUTOPILOT_NVML_EXPORT Return nvmlInitWithFlags(unsigned) {
  if (const Return code = session().enter("nvmlInitWithFlags"); code != abi::kSuccess) return code;
  return session().init();
}

AUTOPILOT_NVML_EXPORT Return nvmlShutdown() {
  if (const Return code = session().enter("nvmlShutdown"); code != abi::kSuccess) return code;
  return session().shutdown();
}

AUTOPILOT_NVML_EXPORT const char* nvmlErrorString(Return code) {
  switch (code) {
    case abi::kSuccess:
      return "Success";
    case abi::kUninitialized:
      return "Uninitialized";
    case abi::kInvalidArgument:
      return "Invalid Argument";
    case abi::kNotSupported:
      return "Not Supported";
    case abi::kNoPermission:
      return "Insufficient Permissions";
    case abi::kNotFound:
      return "Not Found";
    case abi::kInsufficientSize:
      return "Insufficient Size";
    case abi::kDriverNotLoaded:
      return "Driver Not Loaded";
    case abi::kTimeout:
      return "Timeout";
    case abi::kLibraryNotFound:
      return "NVML Shared Library Not Found";
    case abi::kFunctionNotFound:
      return "Function Not Found";
    case abi::kCorruptedInforom:
      return "Corrupted infoROM";
    case abi::kGpuIsLost:
      return "GPU is lost";
    case abi::kResetRequired:
      return "GPU requires reset";
    case abi::kOperatingSystem:
      return "The operating system has blocked the request";
    case abi::kLibRmVersionMismatch:
      return "RM has detected an NVML/RM version mismatch";
    case abi::kArgumentVersionMismatch:
      return "Argument version mismatch";
    default:
      return "Unknown Error";
  }
}

AUTOPILOT_NVML_EXPORT Return nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return session().with_driver("nvmlSystemGetDriverVersion", [&](const DriverModel& driver) {
    return put_text(driver.version, text, size);
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlSystemGetNVMLVersion(char* text, unsigned size) {
  return session().with_driver("nvmlSystemGetNVMLVersion", [&](const DriverModel& driver) {
    return put_text(driver.nvml_version, text, size);
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return session().with_driver("nvmlSystemGetCudaDriverVersion_v2", [&](const DriverModel& driver) {
    if (version == nullptr) return abi::kInvalidArgument;
    *version = driver.cuda_version;
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetCount_v2(unsigned* count) {
  return session().with_driver("nvmlDeviceGetCount_v2", [&](const DriverModel&) {
    if (count == nullptr) return abi::kInvalidArgument;
    *count = static_cast<unsigned>(session().devices().size());
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}

namespace {

// The handle of the matching GPU. A lost GPU has none.
template <class Fits>
Return find_device(const char* function, Device* device, const Fits& fits) {
  return session().with_driver(function, [&](const DriverModel& driver) {
    if (device == nullptr) return abi::kInvalidArgument;
    unsigned index = 0;
    for (const Device known : session().devices()) {
      const GpuModelState* gpu = driver.find(known->address);
      if (fits(index++, known->address, gpu)) {
        if (gpu == nullptr || gpu->state == abi::kGpuIsLost) return abi::kGpuIsLost;
        *device = known;
        return abi::kSuccess;
      }
    }
    return abi::kNotFound;
  });
}

}  // namespace

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  const Return code =
      find_device("nvmlDeviceGetHandleByIndex_v2", device,
                  [&](unsigned at, const std::string&, const GpuModelState*) { return at == index; });
  return code == abi::kNotFound ? abi::kInvalidArgument : code;
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetHandleByIndex(unsigned index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  if (bus_id == nullptr) return abi::kInvalidArgument;
  const auto wanted = autopilot::canonical_pci_address(bus_id);
  if (!wanted) return abi::kInvalidArgument;
  return find_device(
      "nvmlDeviceGetHandleByPciBusId_v2", device,
      [&](unsigned, const std::string& address, const GpuModelState*) { return address == *wanted; });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (uuid == nullptr) return abi::kInvalidArgument;
  return find_device("nvmlDeviceGetHandleByUUID", device,
                     [&](unsigned, const std::string&, const GpuModelState* gpu) {
                       return gpu != nullptr && gpu->uuid == uuid;
                     });
}

AUTOPILOT_NVML_EXPORT Return nvmlEventSetCreate(EventSet* set) {
  return session().with_driver("nvmlEventSetCreate", [&](const DriverModel&) {
    if (set == nullptr) return abi::kInvalidArgument;
    *set = new EventSetTag;
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlEventSetFree(EventSet set) {
  return session().with_driver("nvmlEventSetFree", [&](const DriverModel&) {
    delete set;
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceGetSupportedEventTypes(Device device, unsigned long long* types) {
  return session().with_gpu("nvmlDeviceGetSupportedEventTypes", device, [&](const GpuModelState&) {
    if (types == nullptr) return abi::kInvalidArgument;
    *types = abi::kEventXidCriticalError;
    return abi::kSuccess;
  });
}

AUTOPILOT_NVML_EXPORT Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set) {
  return session().with_gpu("nvmlDeviceRegisterEvents", device, [&](const GpuModelState&) {
    if (set == nullptr) return abi::kInvalidArgument;
    if ((types & abi::kEventXidCriticalError) == 0) return abi::kNotSupported;
    // Events before the first registration are not delivered.
    if (set->devices.empty())
      static_cast<void>(session().with_driver("nvmlDeviceRegisterEvents", [&](const DriverModel& driver) {
        if (!driver.events.empty()) set->seen = driver.events.back().id;
        return abi::kSuccess;
      }));
    set->devices.push_back(device);
    return abi::kSuccess;
  });
}

namespace {

// Takes the next event of the set, or returns TIMEOUT.
Return next_event(const DriverModel& driver, EventSet set, EventData* data) {
  for (const XidEvent& event : driver.events) {
    if (event.id <= set->seen) continue;
    set->seen = event.id;
    for (const Device device : set->devices) {
      if (device->address != event.gpu) continue;
      *data = {device, abi::kEventXidCriticalError, event.xid, ~0U, ~0U};
      return abi::kSuccess;
    }
  }
  return abi::kTimeout;
}

}  // namespace

AUTOPILOT_NVML_EXPORT Return nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned timeout_ms) {
  if (set == nullptr || data == nullptr) return abi::kInvalidArgument;
  constexpr auto step = std::chrono::milliseconds(10);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const Return code = session().with_driver(
        "nvmlEventSetWait_v2", [&](const DriverModel& driver) { return next_event(driver, set, data); });
    if (code != abi::kTimeout || std::chrono::steady_clock::now() + step > end) return code;
    std::this_thread::sleep_for(step);
  }
}
