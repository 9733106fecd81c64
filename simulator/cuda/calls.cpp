// SPDX-License-Identifier: Apache-2.0
// The exported functions of the library. Each first applies the faults of the table.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "core/parse.hpp"
#include "cuda/driver.hpp"

using namespace autopilot::probes::gpu::cuda;
namespace sim = autopilot::simulator::cuda;

#define AUTOPILOT_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

// The declarations that the probe uses: a definition that differs does not compile.
#define AUTOPILOT_CUDA_DECLARE(member, name, arguments) AUTOPILOT_CUDA_EXPORT Return name arguments;
AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_DECLARE)
#undef AUTOPILOT_CUDA_DECLARE

#define AUTOPILOT_CUDA_ENTER(...) \
  if (const Return code = driver().enter(__func__ __VA_OPT__(, ) __VA_ARGS__); code != kSuccess) return code
#define AUTOPILOT_CUDA_ENTER_CURRENT() \
  if (const Return code = driver().enter_current(__func__); code != kSuccess) return code

namespace {

constexpr double kGiga = 1e9;

sim::Driver& driver() {
  return sim::Driver::instance();
}

const sim::GpuTable& gpu_here() {
  return driver().gpu_of(driver().current());
}

void* memory_at(DevicePointer pointer) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): our addresses are the host's
  return reinterpret_cast<void*>(pointer);
}

double seconds_of(std::size_t bytes, double gb_per_s) {
  return static_cast<double>(bytes) / kGiga / gb_per_s;
}

// The rest of the line after a word of a text; empty if the text lacks the word.
std::string_view behind(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + word.size());
  return text.substr(0, text.find('\n'));
}

// True if the GPU supports the target of the text: ".target sm_80", or "sm_90a" for that capability only.
Return check_target(std::string_view text, int capability) {
  std::string_view level = behind(text, ".target sm_");
  const bool is_for_it_alone = level.ends_with('a');
  if (is_for_it_alone) level.remove_suffix(1);
  const auto needed = autopilot::parse_number<int>(level);
  if (!needed) return kInvalidPtx;
  return (is_for_it_alone ? *needed == capability : *needed <= capability) ? kSuccess : kNoBinaryForGpu;
}

// CUDA 11.8 (11080) supports PTX up to 7.8, 12.0 up to 8.0, and so on.
Return check_version(std::string_view text, int cuda_version) {
  const auto parts = autopilot::split(behind(text, ".version "), '.');
  const auto major = autopilot::parse_number<int>(parts.front());
  const auto minor = autopilot::parse_number<int>(parts.back());
  if (parts.size() != 2 || !major || !minor) return kInvalidPtx;
  const int first_with_it = (*major + 4) * 1000 + *minor * 10;
  return cuda_version >= first_with_it ? kSuccess : kUnsupportedPtxVersion;
}

const std::map<Return, const char*>& names() {
  static const std::map<Return, const char*> known{
      {kSuccess, "CUDA_SUCCESS"},
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
      {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {kPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
      {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
      {kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kUnknown, "CUDA_ERROR_UNKNOWN"},
  };
  return known;
}

}  // namespace

// Real drivers lack this function: it shows a client that the driver is simulated.
// NOLINTNEXTLINE(readability-identifier-naming): as all of the driver are named
AUTOPILOT_CUDA_EXPORT int cuAutopilotSimulated() {
  return 1;
}

Return cuInit(unsigned) {
  AUTOPILOT_CUDA_ENTER();
  return driver().table().gpus.empty() ? kNoDevice : kSuccess;
}

Return cuDriverGetVersion(int* version) {
  AUTOPILOT_CUDA_ENTER();
  *version = driver().table().version;
  return kSuccess;
}

Return cuGetErrorName(Return code, const char** name) {
  const auto found = names().find(code);
  *name = found == names().end() ? nullptr : found->second;
  return found == names().end() ? kInvalidValue : kSuccess;
}

Return cuDeviceGetCount(int* count) {
  AUTOPILOT_CUDA_ENTER();
  *count = static_cast<int>(driver().table().gpus.size());
  return kSuccess;
}

Return cuDeviceGet(Device* device, int ordinal) {
  if (driver().gpu(ordinal) == nullptr) return kInvalidDevice;
  AUTOPILOT_CUDA_ENTER(static_cast<std::size_t>(ordinal));
  *device = ordinal;
  return kSuccess;
}

Return cuDeviceGetName(char* name, int size, Device device) {
  const auto* gpu = driver().gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(size), "%s", gpu->name.c_str());
  return kSuccess;
}

Return cuDeviceGetUuid(Uuid* uuid, Device device) {
  const auto* gpu = driver().gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  std::memcpy(uuid->bytes, gpu->uuid.data(), sizeof uuid->bytes);
  return kSuccess;
}

Return cuDeviceGetPCIBusId(char* address, int size, Device device) {
  const auto* gpu = driver().gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  std::snprintf(address, static_cast<std::size_t>(size), "%s", gpu->pci_address.c_str());
  return kSuccess;
}

Return cuDeviceGetAttribute(int* value, int attribute, Device device) {
  const auto* gpu = driver().gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  switch (attribute) {
    case kMultiprocessorCount:
      *value = static_cast<int>(gpu->multiprocessors);
      return kSuccess;
    case kComputeCapabilityMajor:
      *value = gpu->capability / 10;
      return kSuccess;
    case kComputeCapabilityMinor:
      *value = gpu->capability % 10;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

Return cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  const auto* gpu = driver().gpu(device);
  if (gpu == nullptr) return kInvalidDevice;
  *bytes = gpu->memory_bytes;
  return kSuccess;
}

Return cuDeviceCanAccessPeer(int* can, Device device, Device peer) {
  const auto* gpu = driver().gpu(device);
  const auto* other = driver().gpu(peer);
  if (gpu == nullptr || other == nullptr) return kInvalidDevice;
  *can = gpu->has_peer_access && other->has_peer_access && gpu != other ? 1 : 0;
  return kSuccess;
}

Return cuCtxCreate_v2(Context* context, unsigned, Device device) {
  if (driver().gpu(device) == nullptr) return kInvalidDevice;
  AUTOPILOT_CUDA_ENTER(static_cast<std::size_t>(device));
  *context = driver().make_context(static_cast<std::size_t>(device));
  return kSuccess;
}

Return cuCtxDestroy_v2(Context context) {
  return driver().free_context(context);
}

Return cuCtxSetCurrent(Context context) {
  return driver().make_current(context);
}

Return cuDevicePrimaryCtxRetain(Context* context, Device device) {
  if (driver().gpu(device) == nullptr) return kInvalidDevice;
  AUTOPILOT_CUDA_ENTER(static_cast<std::size_t>(device));
  *context = driver().retain_primary(static_cast<std::size_t>(device));
  return kSuccess;
}

Return cuDevicePrimaryCtxRelease_v2(Device device) {
  if (driver().gpu(device) == nullptr) return kInvalidDevice;
  return driver().release_primary(static_cast<std::size_t>(device));
}

Return cuCtxEnablePeerAccess(Context peer, unsigned) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return gpu_here().has_peer_access && driver().gpu_of(peer).has_peer_access ? kSuccess
                                                                             : kPeerAccessUnsupported;
}

Return cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  *free_bytes = driver().free_bytes(driver().current()->gpu);
  *total = gpu_here().memory_bytes;
  return kSuccess;
}

Return cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return driver().allocate(driver().current(), bytes, *pointer);
}

Return cuMemFree_v2(DevicePointer pointer) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return driver().free_memory(pointer);
}

Return cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  *pointer = driver().allocate_host(bytes);
  return kSuccess;
}

Return cuMemFreeHost(void* pointer) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return driver().free_host(pointer);
}

Return cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream)) return kInvalidHandle;
  if (!driver().holds(to, bytes)) return kInvalidValue;
  driver().touch(stream->context->gpu);
  std::memcpy(memory_at(to), from, bytes);
  stream->now += seconds_of(bytes, gpu_here().host_to_device_gb_per_s);
  return kSuccess;
}

Return cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream)) return kInvalidHandle;
  if (!driver().holds(from, bytes)) return kInvalidValue;
  std::memcpy(to, memory_at(from), bytes);
  std::uint64_t first = 0;
  if (bytes >= sizeof first) {
    std::memcpy(&first, to, sizeof first);
    first ^= gpu_here().copy_bits;
    std::memcpy(to, &first, sizeof first);
  }
  stream->now += seconds_of(bytes, gpu_here().device_to_host_gb_per_s);
  return kSuccess;
}

Return cuMemcpyPeerAsync(DevicePointer to, Context to_context, DevicePointer from, Context from_context,
                         std::size_t bytes, Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream)) return kInvalidHandle;
  if (!driver().holds(to, bytes) || !driver().holds(from, bytes)) return kInvalidValue;
  driver().touch(to_context->gpu);
  std::memcpy(memory_at(to), memory_at(from), bytes);
  const double slower =
      std::min(driver().gpu_of(to_context).peer_gb_per_s, driver().gpu_of(from_context).peer_gb_per_s);
  stream->now += seconds_of(bytes, slower);
  return kSuccess;
}

// The probe does without: its copies are kernels of its own. Those of the driver are what it is compared
// with. NOLINTNEXTLINE(readability-identifier-naming): as all of the driver are named
AUTOPILOT_CUDA_EXPORT Return cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes,
                                                  Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream)) return kInvalidHandle;
  if (!driver().holds(to, bytes) || !driver().holds(from, bytes)) return kInvalidValue;
  driver().touch(stream->context->gpu);
  std::memcpy(memory_at(to), memory_at(from), bytes);
  stream->now += seconds_of(2 * bytes, gpu_here().memory_gb_per_s);
  return kSuccess;
}

Return cuMemsetD8Async(DevicePointer pointer, unsigned char value, std::size_t bytes, Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream)) return kInvalidHandle;
  if (!driver().holds(pointer, bytes)) return kInvalidValue;
  driver().touch(stream->context->gpu);
  std::memset(memory_at(pointer), value, bytes);
  stream->now += seconds_of(bytes, gpu_here().memory_gb_per_s);
  return kSuccess;
}

Return cuMemsetD32Async(DevicePointer pointer, unsigned value, std::size_t words, Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream)) return kInvalidHandle;
  if (!driver().holds(pointer, words * sizeof value)) return kInvalidValue;
  driver().touch(stream->context->gpu);
  std::fill_n(static_cast<unsigned*>(memory_at(pointer)), words, value);
  stream->now += seconds_of(words * sizeof value, gpu_here().memory_gb_per_s);
  return kSuccess;
}

Return cuStreamCreate(Stream* stream, unsigned) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  *stream = driver().make_stream(driver().current());
  return kSuccess;
}

Return cuStreamDestroy_v2(Stream stream) {
  return driver().free_stream(stream);
}

Return cuStreamSynchronize(Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return driver().is_known(stream) ? kSuccess : kInvalidHandle;
}

Return cuStreamQuery(Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return driver().is_known(stream) ? kSuccess : kInvalidHandle;
}

Return cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream) || !driver().is_known(event)) return kInvalidHandle;
  stream->now = std::max(stream->now, event->at);
  return kSuccess;
}

Return cuEventCreate(Event* event, unsigned) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  *event = driver().make_event(driver().current());
  return kSuccess;
}

Return cuEventDestroy_v2(Event event) {
  return driver().free_event(event);
}

Return cuEventRecord(Event event, Stream stream) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(stream) || !driver().is_known(event)) return kInvalidHandle;
  event->at = stream->now;
  return kSuccess;
}

Return cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (!driver().is_known(begin) || !driver().is_known(end) || begin->at < 0 || end->at < 0)
    return kInvalidHandle;
  *milliseconds = static_cast<float>((end->at - begin->at) * 1000);
  return kSuccess;
}

Return cuModuleLoadData(Module* module, const void* text) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  std::string copy = static_cast<const char*>(text);
  if (const Return code = check_version(copy, driver().table().version); code != kSuccess) return code;
  if (const Return code = check_target(copy, gpu_here().capability); code != kSuccess) return code;
  *module = driver().load(driver().current(), std::move(copy));
  return kSuccess;
}

Return cuModuleUnload(Module module) {
  return driver().unload(module);
}

Return cuModuleGetFunction(Function* function, Module module, const char* name) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return driver().function_of(module, name, *function);
}

Return cuFuncSetAttribute(Function function, int attribute, int value) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  return attribute == kMostSharedBytesOfLaunch ? driver().allow_shared(function, value) : kInvalidValue;
}

Return cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream,
                      void** arguments, void**) {
  AUTOPILOT_CUDA_ENTER_CURRENT();
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || block_x > 1024) return kInvalidValue;
  return driver().launch(function, grid_x, block_x, shared_bytes, stream, arguments);
}
