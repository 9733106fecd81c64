// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's binary interface that the probe uses, written independently; only the names
// of functions are those of the library. The probe calls through it, and the simulated driver is built
// against it. Values were compared with the documentation of the driver API (CUDA 12), 2026-11-25.
#pragma once

#include <cstddef>

namespace autopilot::probes::gpu::cuda {

using Return = int;
using Device = int;  // an ordinal
struct ContextTag;
using Context = ContextTag*;
struct ModuleTag;
using Module = ModuleTag*;
struct FunctionTag;
using Function = FunctionTag*;
struct StreamTag;
using Stream = StreamTag*;
struct EventTag;
using Event = EventTag*;
using DevicePointer = unsigned long long;

struct Uuid {
  unsigned char bytes[16];
};

inline constexpr Return kSuccess = 0;
inline constexpr Return kInvalidValue = 1;
inline constexpr Return kOutOfMemory = 2;
inline constexpr Return kNotInitialized = 3;
inline constexpr Return kNoDevice = 100;
inline constexpr Return kInvalidDevice = 101;
inline constexpr Return kInvalidContext = 201;
inline constexpr Return kNoBinaryForGpu = 209;
inline constexpr Return kEccUncorrectable = 214;
inline constexpr Return kPeerAccessUnsupported = 217;
inline constexpr Return kInvalidPtx = 218;
inline constexpr Return kNvlinkUncorrectable = 220;
inline constexpr Return kUnsupportedPtxVersion = 222;
inline constexpr Return kInvalidHandle = 400;
inline constexpr Return kNotFound = 500;
inline constexpr Return kNotReady = 600;
inline constexpr Return kIllegalAddress = 700;
inline constexpr Return kLaunchOutOfResources = 701;
inline constexpr Return kLaunchTimeout = 702;
inline constexpr Return kPeerAccessAlreadyEnabled = 704;
inline constexpr Return kHardwareStackError = 714;
inline constexpr Return kLaunchFailed = 719;
inline constexpr Return kNotPermitted = 800;
inline constexpr Return kNotSupported = 801;
inline constexpr Return kSystemNotReady = 802;
inline constexpr Return kSystemDriverMismatch = 803;
inline constexpr Return kUnknown = 999;

// Attributes of a device.
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;

// Attribute of a function: limit of shared memory for a launch, in bytes.
inline constexpr int kMostSharedBytesOfLaunch = 8;

inline constexpr unsigned kBlockingSync = 4;       // of a context: a waiting thread sleeps
inline constexpr unsigned kPortable = 1;           // pinned memory is usable in every context
inline constexpr unsigned kStreamNonBlocking = 1;  // independent of the default stream

}  // namespace autopilot::probes::gpu::cuda

// Every function that the probe calls: X(member, name, arguments). Drivers from 450 on have all of them, and
// the simulated driver defines all of them.
// clang-format off
#define AUTOPILOT_CUDA_FUNCTIONS(X) \
  X(init, cuInit, (unsigned flags)) \
  X(driver_version, cuDriverGetVersion, (int* version)) \
  X(error_name, cuGetErrorName, (Return code, const char** name)) \
  X(device_count, cuDeviceGetCount, (int* count)) \
  X(device_get, cuDeviceGet, (Device* device, int ordinal)) \
  X(device_name, cuDeviceGetName, (char* name, int size, Device device)) \
  X(device_uuid, cuDeviceGetUuid, (Uuid* uuid, Device device)) \
  X(device_pci_address, cuDeviceGetPCIBusId, (char* address, int size, Device device)) \
  X(device_attribute, cuDeviceGetAttribute, (int* value, int attribute, Device device)) \
  X(device_memory, cuDeviceTotalMem_v2, (std::size_t* bytes, Device device)) \
  X(device_can_access_peer, cuDeviceCanAccessPeer, (int* can, Device device, Device peer)) \
  X(context_create, cuCtxCreate_v2, (Context* context, unsigned flags, Device device)) \
  X(context_destroy, cuCtxDestroy_v2, (Context context)) \
  X(context_set, cuCtxSetCurrent, (Context context)) \
  X(primary_context_retain, cuDevicePrimaryCtxRetain, (Context* context, Device device)) \
  X(primary_context_release, cuDevicePrimaryCtxRelease_v2, (Device device)) \
  X(context_enable_peer, cuCtxEnablePeerAccess, (Context peer, unsigned flags)) \
  X(memory_info, cuMemGetInfo_v2, (std::size_t* free_bytes, std::size_t* total)) \
  X(memory_allocate, cuMemAlloc_v2, (DevicePointer* pointer, std::size_t bytes)) \
  X(memory_free, cuMemFree_v2, (DevicePointer pointer)) \
  X(host_allocate, cuMemHostAlloc, (void** pointer, std::size_t bytes, unsigned flags)) \
  X(host_free, cuMemFreeHost, (void* pointer)) \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, (DevicePointer to, const void* from, std::size_t bytes, Stream stream)) \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, std::size_t bytes, Stream stream)) \
  X(copy_to_peer, cuMemcpyPeerAsync, (DevicePointer to, Context to_context, DevicePointer from, Context from_context, std::size_t bytes, Stream stream)) \
  X(memory_set, cuMemsetD8Async, (DevicePointer pointer, unsigned char value, std::size_t bytes, Stream stream)) \
  X(memory_set_words, cuMemsetD32Async, (DevicePointer pointer, unsigned value, std::size_t words, Stream stream)) \
  X(stream_create, cuStreamCreate, (Stream* stream, unsigned flags)) \
  X(stream_destroy, cuStreamDestroy_v2, (Stream stream)) \
  X(stream_synchronize, cuStreamSynchronize, (Stream stream)) \
  X(stream_query, cuStreamQuery, (Stream stream)) \
  X(stream_wait, cuStreamWaitEvent, (Stream stream, Event event, unsigned flags)) \
  X(event_create, cuEventCreate, (Event* event, unsigned flags)) \
  X(event_destroy, cuEventDestroy_v2, (Event event)) \
  X(event_record, cuEventRecord, (Event event, Stream stream)) \
  X(event_elapsed, cuEventElapsedTime, (float* milliseconds, Event begin, Event end)) \
  X(module_load, cuModuleLoadData, (Module* module, const void* text)) \
  X(module_unload, cuModuleUnload, (Module module)) \
  X(module_function, cuModuleGetFunction, (Function* function, Module module, const char* name)) \
  X(function_set_attribute, cuFuncSetAttribute, (Function function, int attribute, int value)) \
  X(launch, cuLaunchKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** arguments, void** extra))
// clang-format on
