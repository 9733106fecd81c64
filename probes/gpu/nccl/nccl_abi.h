// SPDX-License-Identifier: Apache-2.0
// The part of NCCL's binary interface that the probe uses, written independently; only the names of functions
// are those of the library. The probe calls through it, and the simulated library is built against it. Values
// were compared with the documentation of NCCL and with nvidia-nccl-cu12 2.32.3 (PyPI), 2026-11-26. RCCL has
// the same names, arguments and values (src/nccl.h.in of ROCm/rccl with RCCL_BFLOAT16 alone, and of
// ROCm/rocm-systems with RCCL_SUSPEND_RESUME), 2026-11-27; its stream is HIP's.
#pragma once

#include <cstddef>

#include "probes/gpu/driver/cuda_abi.h"

namespace autopilot::probes::gpu::nccl {

using Return = int;
using DataType = int;
using Operation = int;
struct CommunicatorTag;
using Communicator = CommunicatorTag*;

// Passed by value. Its content is private to the library.
struct UniqueId {
  char bytes[128];
};
static_assert(sizeof(UniqueId) == 128);

inline constexpr Return kSuccess = 0;
inline constexpr Return kUnhandledCudaError = 1;
inline constexpr Return kSystemError = 2;
inline constexpr Return kInternalError = 3;
inline constexpr Return kInvalidArgument = 4;
inline constexpr Return kInvalidUsage = 5;
inline constexpr Return kRemoteError = 6;
inline constexpr Return kInProgress = 7;

inline constexpr DataType kUint64 = 5;
inline constexpr DataType kFloat32 = 7;

inline constexpr Operation kSum = 0;
inline constexpr Operation kMax = 2;
inline constexpr Operation kMin = 3;

}  // namespace autopilot::probes::gpu::nccl

// X(result, member, name, arguments). The required functions are in NCCL from 2.4 on.
// clang-format off
#define AUTOPILOT_NCCL_FUNCTIONS(X) \
  X(Return, version, ncclGetVersion, (int* version)) \
  X(Return, make_id, ncclGetUniqueId, (UniqueId* id)) \
  X(Return, join, ncclCommInitRank, (Communicator* communicator, int ranks, UniqueId id, int rank)) \
  X(Return, destroy, ncclCommDestroy, (Communicator communicator)) \
  X(Return, abort, ncclCommAbort, (Communicator communicator)) \
  X(Return, async_error, ncclCommGetAsyncError, (Communicator communicator, Return* code)) \
  X(Return, all_reduce, ncclAllReduce, (const void* send, void* receive, std::size_t count, DataType type, Operation operation, Communicator communicator, cuda::Stream stream)) \
  X(Return, group_start, ncclGroupStart, ()) \
  X(Return, group_end, ncclGroupEnd, ()) \
  X(const char*, error_text, ncclGetErrorString, (Return code))
// From 2.13 on. The communicator can be null.
#define AUTOPILOT_NCCL_OPTIONAL_FUNCTIONS(X) \
  X(const char*, last_error, ncclGetLastError, (Communicator communicator))
// clang-format on
