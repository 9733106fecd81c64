// SPDX-License-Identifier: Apache-2.0
// The part of HIP's binary interface that an all-reduce uses, written independently and with the types of
// cuda_abi.h, because HIP follows CUDA. The used codes and flags have the same values, an ordinal is the
// device, and a GPU address, a pointer there, has the width of our number. Names, arguments and values were
// compared with the header and the library of HIP 5.2.3 (libamdhip64-dev and libamdhip64-5 5.2.3-8 of Debian
// 12); the codes from 801 on also with hip_runtime_api.h of HIP 7.12, and the names with the exports of its
// library (hip_hcc.map.in), both of ROCm/rocm-systems; 2026-11-27.
#pragma once

#include "probes/gpu/driver/cuda_abi.h"

// X(member, name, arguments), instead of CUDA's function of that member. The library has exported all of them
// since 4.2, under one symbol version.
// clang-format off
#define AUTOPILOT_HIP_FUNCTIONS(X) \
  X(init, hipInit, (unsigned flags)) \
  X(device_count, hipGetDeviceCount, (int* count)) \
  X(device_get, hipDeviceGet, (Device* device, int ordinal)) \
  X(device_name, hipDeviceGetName, (char* name, int size, Device device)) \
  X(device_pci_address, hipDeviceGetPCIBusId, (char* address, int size, Device device)) \
  X(device_memory, hipDeviceTotalMem, (std::size_t* bytes, Device device)) \
  X(device_set, hipSetDevice, (Device device)) \
  X(memory_info, hipMemGetInfo, (std::size_t* free_bytes, std::size_t* total)) \
  X(memory_allocate, hipMalloc, (DevicePointer* pointer, std::size_t bytes)) \
  X(memory_free, hipFree, (DevicePointer pointer)) \
  X(copy_to_device, hipMemcpyHtoDAsync, (DevicePointer to, const void* from, std::size_t bytes, Stream stream)) \
  X(copy_to_host, hipMemcpyDtoHAsync, (void* to, DevicePointer from, std::size_t bytes, Stream stream)) \
  X(memory_set_words, hipMemsetD32Async, (DevicePointer pointer, unsigned value, std::size_t words, Stream stream)) \
  X(stream_create, hipStreamCreateWithFlags, (Stream* stream, unsigned flags)) \
  X(stream_destroy, hipStreamDestroy, (Stream stream)) \
  X(stream_synchronize, hipStreamSynchronize, (Stream stream)) \
  X(stream_query, hipStreamQuery, (Stream stream)) \
  X(event_create, hipEventCreateWithFlags, (Event* event, unsigned flags)) \
  X(event_destroy, hipEventDestroy, (Event event)) \
  X(event_record, hipEventRecord, (Event event, Stream stream)) \
  X(event_elapsed, hipEventElapsedTime, (float* milliseconds, Event begin, Event end))
// The function whose CUDA counterpart has other arguments. For an unknown code it returns the name of another
// code.
#define AUTOPILOT_HIP_ERROR_NAME(X) X(const char*, hipGetErrorName, (Return code))
// clang-format on
