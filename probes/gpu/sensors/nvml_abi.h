// SPDX-License-Identifier: Apache-2.0
// The NVML functions that the probe calls, written independently. The agent has its own list
// (src/host/gpu/nvml_abi.h), because a probe does not depend on the agent. Values were compared with the
// ctypes declarations of nvidia-ml-py 13.615.71 (PyPI), 2026-11-25.
#pragma once

// Types of arguments have the library's own names, so that a sanitizer finds that a caller and a function of
// two programs, each with a list of its own, mean the same. NOLINTBEGIN(readability-identifier-naming)
struct nvmlDevice_st;
struct nvmlProcessInfo_v2_st {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};
// NOLINTEND(readability-identifier-naming)

namespace autopilot::probes::gpu::nvml {

using Return = int;
using Device = nvmlDevice_st*;

using ProcessInfo = nvmlProcessInfo_v2_st;  // of nvmlDeviceGetComputeRunningProcesses_v3
static_assert(sizeof(ProcessInfo) == 24);

inline constexpr Return kSuccess = 0;
inline constexpr Return kInsufficientSize = 7;
inline constexpr unsigned kMigEnabled = 1;
inline constexpr unsigned kTemperatureGpu = 0;
inline constexpr unsigned kClockSm = 1;

}  // namespace autopilot::probes::gpu::nvml

// X(member, name, arguments). Drivers from 525 on have all of them.
// clang-format off
#define AUTOPILOT_PROBE_NVML_FUNCTIONS(X) \
  X(init, nvmlInit_v2, ()) \
  X(device, nvmlDeviceGetHandleByPciBusId_v2, (const char* address, Device* device)) \
  X(temperature, nvmlDeviceGetTemperature, (Device device, unsigned sensor, unsigned* celsius)) \
  X(power, nvmlDeviceGetPowerUsage, (Device device, unsigned* milliwatts)) \
  X(power_limit, nvmlDeviceGetEnforcedPowerLimit, (Device device, unsigned* milliwatts)) \
  X(clock, nvmlDeviceGetClockInfo, (Device device, unsigned clock, unsigned* megahertz)) \
  X(link_generation, nvmlDeviceGetCurrPcieLinkGeneration, (Device device, unsigned* generation)) \
  X(link_lanes, nvmlDeviceGetCurrPcieLinkWidth, (Device device, unsigned* lanes)) \
  X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons, (Device device, unsigned long long* bits)) \
  X(processes, nvmlDeviceGetComputeRunningProcesses_v3, (Device device, unsigned* count, ProcessInfo* processes))
// Optional functions that older drivers can lack.
#define AUTOPILOT_PROBE_NVML_OPTIONAL_FUNCTIONS(X) \
  X(mig_mode, nvmlDeviceGetMigMode, (Device device, unsigned* current, unsigned* pending))
// clang-format on
