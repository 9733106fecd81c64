// SPDX-License-Identifier: Apache-2.0
// Primitives that the kernels need, for both targets: a GPU (clang in CUDA mode, without a toolkit), and the
// host, which runs the same source for the simulated driver and for tests. On the host a kernel is a function
// that is called once for each thread of a grid; `place` identifies the thread, and calls that threads make
// together go through it.
#pragma once

#ifdef __CUDA__
#include <stdint.h>
#else
#include <cstddef>
#include <cstdint>
#include <cstring>
#endif

#ifdef __CUDA__
#define AUTOPILOT_KERNEL extern "C" __attribute__((global)) void
#define AUTOPILOT_DEVICE static inline __attribute__((device, always_inline))
#define AUTOPILOT_MEMBER __attribute__((device, always_inline))
// Bytes shared by the threads of a block, at most 48 KiB.
#define AUTOPILOT_SHARED(name, bytes) static __attribute__((shared, aligned(16))) unsigned char name[bytes]
// The same with a size set at launch: more than 48 KiB if the GPU supports it.
#define AUTOPILOT_SHARED_OF_LAUNCH(name) extern __attribute__((shared, aligned(1024))) unsigned char name[]
// For a kernel that is launched with that many threads in a block and needs as many registers as possible.
#define AUTOPILOT_BLOCK_OF(threads) __attribute__((launch_bounds(threads, 1)))
#else
#define AUTOPILOT_KERNEL inline void
#define AUTOPILOT_DEVICE static inline
#define AUTOPILOT_MEMBER
#define AUTOPILOT_SHARED(name, bytes) unsigned char* name = ::autopilot::probes::gpu::kernels::place.shared
#define AUTOPILOT_SHARED_OF_LAUNCH(name) AUTOPILOT_SHARED(name, )
#define AUTOPILOT_BLOCK_OF(threads)
#endif

namespace autopilot::probes::gpu::kernels {

inline constexpr unsigned kWarpThreads = 32;

// 16 bytes, which a thread moves in one instruction.
using Pair = double __attribute__((vector_size(16)));

#ifdef __CUDA__

AUTOPILOT_DEVICE unsigned thread_index() {
  return __nvvm_read_ptx_sreg_tid_x();
}
AUTOPILOT_DEVICE unsigned block_index() {
  return __nvvm_read_ptx_sreg_ctaid_x();
}
AUTOPILOT_DEVICE unsigned block_threads() {
  return __nvvm_read_ptx_sreg_ntid_x();
}
AUTOPILOT_DEVICE unsigned grid_blocks() {
  return __nvvm_read_ptx_sreg_nctaid_x();
}

AUTOPILOT_DEVICE unsigned multiprocessor() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

AUTOPILOT_DEVICE uint64_t nanosecond_clock() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

AUTOPILOT_DEVICE void block_barrier() {
  __syncthreads();
}

// Address in the block's shared memory, as instructions use it.
AUTOPILOT_DEVICE uint32_t shared_address(const unsigned char* of) {
  return static_cast<uint32_t>((uint64_t)(__attribute__((address_space(3))) const void*)of);
}

// Rounded to nearest, never contracted with neighbouring operations: the same bits as on the host.
AUTOPILOT_DEVICE float fused(float a, float b, float c) {
  return __nvvm_fma_rn_f(a, b, c);
}
AUTOPILOT_DEVICE double fused(double a, double b, double c) {
  return __nvvm_fma_rn_d(a, b, c);
}

template <class To, class From>
AUTOPILOT_DEVICE To bits_as(From from) {
  return __builtin_bit_cast(To, from);
}

#else

// Operations that threads of a host run together. Null if a kernel needs none.
class Cooperation {
 public:
  Cooperation() = default;
  Cooperation(const Cooperation&) = delete;
  Cooperation& operator=(const Cooperation&) = delete;
  virtual ~Cooperation() = default;
  virtual void block_barrier() = 0;
  // c += a * b of one warp, with fragments in the layout of the tensor instruction.
  virtual void multiply_bf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) = 0;
  virtual void multiply_f64(double (&c)[2], double a, double b) = 0;
  // c += a * b of a warpgroup; its tensor cores read the factors from shared memory by descriptors.
  virtual void multiply_shared_bf16(float (&c)[128], std::uint64_t a, std::uint64_t b) = 0;
  // Copies into shared memory, and products out of it, run beside the thread in groups: all operations since
  // the last commit form one group. A wait leaves that many of the latest groups in progress.
  virtual void copy(unsigned char* to, const unsigned char* from, std::size_t bytes) = 0;
  virtual void commit_copies() = 0;
  virtual void wait_copies(std::size_t left) = 0;
  virtual void commit_products() = 0;
  virtual void wait_products(std::size_t left) = 0;
  // Makes copies of this thread visible to tensor cores that read shared memory themselves.
  virtual void show_copies() = 0;
};

struct Place {
  unsigned thread = 0;
  unsigned block = 0;
  unsigned threads = 1;
  unsigned blocks = 1;
  unsigned multiprocessor = 0;
  std::uint64_t wrong_bits =
      0;  // bits that this multiprocessor flips in every fused operation in double precision
  std::uint64_t nanoseconds = 0;  // since the start of the thread
  unsigned char* shared = nullptr;
  Cooperation* together = nullptr;
};

inline thread_local Place place;

inline unsigned thread_index() {
  return place.thread;
}
inline unsigned block_index() {
  return place.block;
}
inline unsigned block_threads() {
  return place.threads;
}
inline unsigned grid_blocks() {
  return place.blocks;
}
inline unsigned multiprocessor() {
  return place.multiprocessor;
}
// The host does not wait: each call advances the clock by a millisecond.
inline std::uint64_t nanosecond_clock() {
  return place.nanoseconds += 1'000'000;
}
inline void block_barrier() {
  place.together->block_barrier();
}

inline constexpr std::uint32_t kSharedBegin = 1024;  // not 0, as on a GPU
inline std::uint32_t shared_address(const unsigned char* of) {
  return kSharedBegin + static_cast<std::uint32_t>(of - place.shared);
}

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

inline float fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double fused(double a, double b, double c) {
  return bits_as<double>(bits_as<std::uint64_t>(__builtin_fma(a, b, c)) ^ place.wrong_bits);
}

#endif

AUTOPILOT_DEVICE uint64_t grid_thread() {
  return uint64_t{block_index()} * block_threads() + thread_index();
}
AUTOPILOT_DEVICE uint64_t grid_threads() {
  return uint64_t{grid_blocks()} * block_threads();
}

}  // namespace autopilot::probes::gpu::kernels
