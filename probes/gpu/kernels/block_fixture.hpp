// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on the host as a GPU runs it: the threads of a block at the same time, with barriers,
// shared memory and the tensor instructions of a warp, whose fragments are laid out as the PTX ISA says (8.0,
// "Matrix Fragments for mma.m16n8k16" and "mma.m8n8k4 with .f64").
#pragma once

#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/kernels/numbers.hpp"

namespace autopilot::probes::gpu::kernels {

// The 32 threads that one instruction multiplies with.
class Warp {
 public:
  template <class Own, class Body>
  void exchange(std::array<Own, kWarpThreads>& parts, unsigned lane, const Own& own, const Body& body) {
    parts[lane] = own;
    all_.arrive_and_wait();
    body();
    all_.arrive_and_wait();
  }

  struct Bf16 {
    std::array<std::uint32_t, 4> a;
    std::array<std::uint32_t, 2> b;
  };
  struct F64 {
    double a;
    double b;
  };
  std::array<Bf16, kWarpThreads> bf16{};
  std::array<F64, kWarpThreads> f64{};

 private:
  std::barrier<> all_{kWarpThreads};
};

// What one thread of a block sees of the others.
class BlockThread final : public Cooperation {
 public:
  BlockThread(std::barrier<>& block, Warp& warp, unsigned lane) : block_(block), warp_(warp), lane_(lane) {}

  void block_barrier() override { block_.arrive_and_wait(); }

  void multiply_bf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) override {
    warp_.exchange(warp_.bf16, lane_, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, [&] {
      for (unsigned part = 0; part < 4; ++part)
        for (unsigned k = 0; k < 16; ++k)
          c[part] += a_bf16(lane_ / 4 + 8 * (part / 2), k) * b_bf16(k, lane_ % 4 * 2 + part % 2);
    });
  }

  void multiply_f64(double (&c)[2], double a, double b) override {
    warp_.exchange(warp_.f64, lane_, {a, b}, [&] {
      for (unsigned part = 0; part < 2; ++part)
        for (unsigned k = 0; k < 4; ++k)
          c[part] += warp_.f64[lane_ / 4 * 4 + k].a * warp_.f64[(lane_ % 4 * 2 + part) * 4 + k].b;
    });
  }

 private:
  // Of a word, the half for an even or an odd place.
  static float half(std::uint32_t word, unsigned k) {
    return from_bf16(static_cast<std::uint16_t>(k % 2 == 0 ? word & 0xffff : word >> 16));
  }
  [[nodiscard]] float a_bf16(unsigned row, unsigned k) const {
    return half(warp_.bf16[row % 8 * 4 + k % 8 / 2].a[row / 8 + k / 8 * 2], k);
  }
  [[nodiscard]] float b_bf16(unsigned k, unsigned column) const {
    return half(warp_.bf16[column * 4 + k % 8 / 2].b[k / 8], k);
  }

  std::barrier<>& block_;
  Warp& warp_;
  unsigned lane_;
};

inline constexpr std::size_t kSharedBytes = std::size_t{48} << 10;

// `kernel` in every thread of every block, one block after the other. `threads`: whole warps.
inline void run_grid(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  AUTOPILOT_ASSERT(threads % kWarpThreads == 0);
  for (unsigned block = 0; block < blocks; ++block) {
    alignas(16) static std::array<unsigned char, kSharedBytes> shared;
    std::barrier<> all(threads);
    std::vector<std::unique_ptr<Warp>> warps;
    for (unsigned i = 0; i < threads / kWarpThreads; ++i)
      warps.push_back(std::make_unique<Warp>());
    std::vector<std::jthread> running;
    for (unsigned thread = 0; thread < threads; ++thread)
      running.emplace_back([&, thread] {
        BlockThread together(all, *warps[thread / kWarpThreads], thread % kWarpThreads);
        place = {.thread = thread,
                 .block = block,
                 .threads = threads,
                 .blocks = blocks,
                 .shared = shared.data(),
                 .together = &together};
        kernel();
      });
  }
}

}  // namespace autopilot::probes::gpu::kernels
