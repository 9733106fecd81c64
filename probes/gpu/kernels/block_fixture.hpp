// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on the host as a GPU runs it: the threads of a block at the same time, with barriers,
// shared memory, what copies and multiplies beside them, and the tensor instructions, whose fragments and
// descriptors are those of the PTX ISA (8.0, "Matrix Fragments for mma.m16n8k16" and "mma.m8n8k4 with .f64",
// "Register Fragments for wgmma.mma_async.m64nNk16", "Matrix descriptor").
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
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

// Of what goes on beside a thread, the other is done as late as waits allow.
enum class First { copies, products };

struct Block {
  explicit Block(unsigned threads) : all(threads) {}
  std::barrier<> all;
  std::atomic<bool> hides_copies = false;  // a thread met the others before it had shown what it copied
};

// What is done in groups beside a thread: all at once, or as late as its waits allow.
class Beside {
 public:
  explicit Beside(bool is_first) : is_first_(is_first) {}

  void begin(std::function<void()> work) {
    if (is_first_) return work();
    begun_.push_back(std::move(work));
  }
  void commit() { groups_.push_back(std::exchange(begun_, {})); }
  void wait(std::size_t left) {
    for (; groups_.size() > left; groups_.pop_front())
      for (const auto& work : groups_.front())
        work();
  }

 private:
  bool is_first_;
  std::vector<std::function<void()>> begun_;
  std::deque<std::vector<std::function<void()>>> groups_;
};

// What one thread of a block sees of the others.
class BlockThread final : public Cooperation {
 public:
  BlockThread(Block& block, Warp& warp, First first)
      : block_(block),
        warp_(warp),
        lane_(place.thread % kWarpThreads),
        copies_(first == First::copies),
        products_(first == First::products) {}

  void block_barrier() override {
    if (hides_copies_) block_.hides_copies = true;
    block_.all.arrive_and_wait();
  }

  void copy(unsigned char* to, const unsigned char* from, std::size_t bytes) override {
    copies_.begin([this, to, from, bytes] {
      std::memcpy(to, from, bytes);
      hides_copies_ = true;
    });
  }
  void commit_copies() override { copies_.commit(); }
  void wait_copies(std::size_t left) override { copies_.wait(left); }
  void show_copies() override { hides_copies_ = false; }

  void multiply_shared_bf16(float (&c)[128], std::uint64_t a, std::uint64_t b) override {
    AUTOPILOT_ASSERT(!block_.hides_copies);
    products_.begin([this, &c, a, b] {
      const unsigned row = lane_ / 4 + place.thread / kWarpThreads % 4 * 16;
      for (unsigned part = 0; part < 128; ++part)
        for (unsigned k = 0; k < 16; ++k)
          c[part] += described(a, row + part / 2 % 2 * 8, k) *
                     described(b, part / 4 * 8 + lane_ % 4 * 2 + part % 2, k);
    });
  }
  void commit_products() override { products_.commit(); }
  void wait_products(std::size_t left) override { products_.wait(left); }

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

  // Element `k` of a row that a descriptor of shared memory defines, which is stored along k, in rows of 128
  // bytes whose 16-byte chunks are swizzled: bits 4 to 6 of an address with its bits 7 to 9.
  static float described(std::uint64_t descriptor, unsigned row, unsigned k) {
    const auto field = [descriptor](unsigned at) {
      return static_cast<unsigned>(descriptor >> at & 0x3fff) << 4;
    };
    constexpr unsigned kSwizzleOf128Bytes = 1;
    AUTOPILOT_ASSERT(descriptor >> 62 == kSwizzleOf128Bytes && (descriptor >> 49 & 7) == 0);
    unsigned address = field(0) + row / 8 * field(32) + row % 8 * 128 + k * 2;
    address ^= (address >> 7 & 7) << 4;
    std::uint16_t number = 0;
    std::memcpy(&number, place.shared + (address - kSharedBegin), sizeof number);
    return from_bf16(number);
  }

  Block& block_;
  Warp& warp_;
  unsigned lane_;
  Beside copies_;
  Beside products_;
  bool hides_copies_ = false;
};

inline constexpr std::size_t kSharedBytes = std::size_t{227} << 10;  // most that a GPU gives a block

// `kernel` in every thread of every block, one block after the other. `threads`: whole warps.
inline void run_grid(unsigned blocks, unsigned threads, const std::function<void()>& kernel,
                     First first = First::copies) {
  AUTOPILOT_ASSERT(threads % kWarpThreads == 0);
  for (unsigned block = 0; block < blocks; ++block) {
    alignas(1024) static std::array<unsigned char, kSharedBytes> shared;
    Block all(threads);
    std::vector<std::unique_ptr<Warp>> warps;
    for (unsigned i = 0; i < threads / kWarpThreads; ++i)
      warps.push_back(std::make_unique<Warp>());
    std::vector<std::jthread> running;
    for (unsigned thread = 0; thread < threads; ++thread)
      running.emplace_back([&, thread] {
        place = {
            .thread = thread, .block = block, .threads = threads, .blocks = blocks, .shared = shared.data()};
        BlockThread together(all, *warps[thread / kWarpThreads], first);
        place.together = &together;
        kernel();
      });
  }
}

}  // namespace autopilot::probes::gpu::kernels
