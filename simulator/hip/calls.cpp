// SPDX-License-Identifier: Apache-2.0
// HIP's names for functions of the simulated CUDA driver. Each first applies the faults of the table for
// either name.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <unistd.h>

#include "cuda/driver.hpp"
#include "probes/gpu/driver/hip_abi.h"

using namespace autopilot::probes::gpu::cuda;
namespace sim = autopilot::simulator::cuda;

#define AUTOPILOT_HIP_EXPORT extern "C" __attribute__((visibility("default")))

// The declarations that the probe uses: a definition that differs does not compile.
#define AUTOPILOT_HIP_DECLARE(member, name, arguments) AUTOPILOT_HIP_EXPORT Return name arguments;
AUTOPILOT_HIP_FUNCTIONS(AUTOPILOT_HIP_DECLARE)
#undef AUTOPILOT_HIP_DECLARE
#define AUTOPILOT_HIP_DECLARE(result, name, arguments) AUTOPILOT_HIP_EXPORT result name arguments;
AUTOPILOT_HIP_ERROR_NAME(AUTOPILOT_HIP_DECLARE)
#undef AUTOPILOT_HIP_DECLARE
// The functions that implement them.
#define AUTOPILOT_CUDA_DECLARE(member, name, arguments) extern "C" Return name arguments;
AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_DECLARE)
#undef AUTOPILOT_CUDA_DECLARE

#define AUTOPILOT_HIP_ENTER() \
  if (const Return code = driver().enter(__func__); code != kSuccess) return code

namespace {

sim::Driver& driver() {
  return sim::Driver::instance();
}

const std::map<Return, const char*>& names() {
  static const std::map<Return, const char*> known{
      {kSuccess, "hipSuccess"},
      {kInvalidValue, "hipErrorInvalidValue"},
      {kOutOfMemory, "hipErrorOutOfMemory"},
      {kNotInitialized, "hipErrorNotInitialized"},
      {kNoDevice, "hipErrorNoDevice"},
      {kInvalidDevice, "hipErrorInvalidDevice"},
      {kInvalidContext, "hipErrorInvalidContext"},
      {kInvalidHandle, "hipErrorInvalidHandle"},
      {kIllegalAddress, "hipErrorIllegalAddress"},
  };
  return known;
}

// Registers this process as a user of the first GPU in the folder that replaces /sys/class/kfd/kfd, if it
// exists. It remains registered.
void register_with_kfd() {
  const char* const folder = std::getenv("AUTOPILOT_SIM_KFD");
  if (folder == nullptr) return;
  const std::filesystem::path kfd = folder;
  std::string id;
  std::ifstream(kfd / "topology/nodes/1/gpu_id") >> id;
  const std::filesystem::path process = kfd / "proc" / std::to_string(::getpid());
  std::error_code ignored;
  std::filesystem::create_directories(process, ignored);
  std::ofstream(process / ("vram_" + id)) << (1 << 20) << "\n";
}

}  // namespace

// Real drivers lack this function: it shows a client that the driver is simulated.
// NOLINTNEXTLINE(readability-identifier-naming): as all of the driver are named
AUTOPILOT_HIP_EXPORT int hipAutopilotSimulated() {
  return 1;
}

const char* hipGetErrorName(Return code) {
  const auto found = names().find(code);
  return found == names().end() ? "hipErrorUnknown" : found->second;
}

Return hipInit(unsigned flags) {
  AUTOPILOT_HIP_ENTER();
  register_with_kfd();
  return cuInit(flags);
}

Return hipGetDeviceCount(int* count) {
  AUTOPILOT_HIP_ENTER();
  return cuDeviceGetCount(count);
}

Return hipDeviceGet(Device* device, int ordinal) {
  AUTOPILOT_HIP_ENTER();
  return cuDeviceGet(device, ordinal);
}

Return hipDeviceGetName(char* name, int size, Device device) {
  AUTOPILOT_HIP_ENTER();
  return cuDeviceGetName(name, size, device);
}

Return hipDeviceGetPCIBusId(char* address, int size, Device device) {
  AUTOPILOT_HIP_ENTER();
  return cuDeviceGetPCIBusId(address, size, device);
}

Return hipDeviceTotalMem(std::size_t* bytes, Device device) {
  AUTOPILOT_HIP_ENTER();
  return cuDeviceTotalMem_v2(bytes, device);
}

// Later calls of the thread use the only context of the GPU.
Return hipSetDevice(Device device) {
  AUTOPILOT_HIP_ENTER();
  Context context = nullptr;
  const Return code = cuDevicePrimaryCtxRetain(&context, device);
  return code == kSuccess ? cuCtxSetCurrent(context) : code;
}

Return hipMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  AUTOPILOT_HIP_ENTER();
  return cuMemGetInfo_v2(free_bytes, total);
}

Return hipMalloc(DevicePointer* pointer, std::size_t bytes) {
  AUTOPILOT_HIP_ENTER();
  return cuMemAlloc_v2(pointer, bytes);
}

Return hipFree(DevicePointer pointer) {
  AUTOPILOT_HIP_ENTER();
  return cuMemFree_v2(pointer);
}

Return hipMemcpyHtoDAsync(DevicePointer to, const void* from, std::size_t bytes, Stream stream) {
  AUTOPILOT_HIP_ENTER();
  return cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}

Return hipMemcpyDtoHAsync(void* to, DevicePointer from, std::size_t bytes, Stream stream) {
  AUTOPILOT_HIP_ENTER();
  return cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}

Return hipMemsetD32Async(DevicePointer pointer, unsigned value, std::size_t words, Stream stream) {
  AUTOPILOT_HIP_ENTER();
  return cuMemsetD32Async(pointer, value, words, stream);
}

Return hipStreamCreateWithFlags(Stream* stream, unsigned flags) {
  AUTOPILOT_HIP_ENTER();
  return cuStreamCreate(stream, flags);
}

Return hipStreamDestroy(Stream stream) {
  AUTOPILOT_HIP_ENTER();
  return cuStreamDestroy_v2(stream);
}

Return hipStreamSynchronize(Stream stream) {
  AUTOPILOT_HIP_ENTER();
  return cuStreamSynchronize(stream);
}

Return hipStreamQuery(Stream stream) {
  AUTOPILOT_HIP_ENTER();
  return cuStreamQuery(stream);
}

Return hipEventCreateWithFlags(Event* event, unsigned flags) {
  AUTOPILOT_HIP_ENTER();
  return cuEventCreate(event, flags);
}

Return hipEventDestroy(Event event) {
  AUTOPILOT_HIP_ENTER();
  return cuEventDestroy_v2(event);
}

Return hipEventRecord(Event event, Stream stream) {
  AUTOPILOT_HIP_ENTER();
  return cuEventRecord(event, stream);
}

Return hipEventElapsedTime(float* milliseconds, Event begin, Event end) {
  AUTOPILOT_HIP_ENTER();
  return cuEventElapsedTime(milliseconds, begin, end);
}
