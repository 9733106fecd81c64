// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// Bytes of one unit of a series.
inline constexpr double kGiga = 1e9;

// Repeated measurements, ordered by time.
struct Series {
  std::string name;
  std::string unit;  // "GB/s" (10^9 bytes), "TFLOP/s"
  std::vector<double> samples;
  std::string peer = {};  // UUID of the other GPU, for a copy between two GPUs
};

// A result that differs from the only correct one.
struct Wrong {
  std::string where;        // "multiprocessor 3", "word at byte 4096 of 1048576"
  std::uint64_t count = 0;  // number of wrong results there
  std::string detail;       // "bits 0x4"
};

// Another GPU that a test skipped, or could not finish with.
struct UntestedPeer {
  std::string peer;  // its UUID
  std::string why;
  bool has_failed = false;  // a call of the test failed: either GPU can be the cause
};

// Results of one test on one GPU.
struct Measurement {
  std::vector<Series> series;
  std::vector<Wrong> wrong;
  // Results that one kernel got wrong and another one right on this GPU: no evidence of a fault of the GPU.
  std::vector<Wrong> disputed;
  std::vector<UntestedPeer> untested;
  std::vector<std::pair<std::string, std::int64_t>> facts;  // "bytes_tested"
  // The error that ended the test after a wrong result. The wrong result counts nevertheless, because bad
  // memory often causes an error of the driver. Without a wrong result, the error is the result of the test.
  std::optional<Error> broken_by = {};
};

// Why a GPU must not be used together with others now. nullopt: it can be used.
using WhyNot = std::function<std::optional<std::string>()>;

struct Peer {
  const GpuFacts& facts;
  WhyNot why_not;
};

// Limits of one test on one GPU.
struct TestLimits {
  double seconds = 0;
  double memory_share = 0;         // of a GPU that the test opens beside its own
  std::span<const Peer> others{};  // other GPUs in the test
  WhyNot why_not{};                // of this GPU
  // Current power of the GPU in watts. nullopt: unknown now. Empty function: always unknown.
  std::function<std::optional<double>()> watts{};
};

// Queues `work` that many times into the stream: a start and an end take microseconds, which must not affect
// the measurement.
[[nodiscard]] Status repeat(unsigned times, const std::function<Status()>& work);

// Limit of individually reported wrong results; the last one has the number of omitted ones.
inline constexpr std::size_t kMostWrong = 64;
// Limit of samples of one series. Each takes milliseconds, so only long tests reach it.
inline constexpr std::size_t kMostSamples = 2000;

// Runs `work` once as a warm-up, then measures it for that many seconds, at least once. `amount`: data moved
// or operations of one run, in 10^9 (10^12) of the unit. Ends early if the watch requests a stop.
[[nodiscard]] Result<Series> measure(Session& session, std::string name, std::string unit, double amount,
                                     double seconds, const std::function<Status()>& work);

// Adds one to `wrong`, unless kMostWrong is reached.
void add_wrong(Measurement& measurement, Wrong wrong);

// Result of a test with this outcome: the error, or the measurement if it has a wrong result.
[[nodiscard]] Result<Measurement> ended(Measurement measurement, const Status& outcome);

[[nodiscard]] std::string hex_text(std::uint64_t bits);

// Blocks of threads that fill the GPU, for kernels that stream through memory.
[[nodiscard]] Grid wide_grid(const GpuFacts& gpu);

// The tests, each of one GPU in its own session. An error is an error of the driver and does not invalidate
// earlier measurements; a wrong result is not an error. After a wrong result, the error is in
// Measurement::broken_by.

// Host to device, device to host, and both at once, through pinned memory.
[[nodiscard]] Result<Measurement> test_pcie(Session& session, const TestLimits& limits);
// Copy, scale, triad and daxpy of the GPU's own memory.
[[nodiscard]] Result<Measurement> test_hbm(Session& session, const TestLimits& limits);

// Matrix products in double precision and, if the GPU supports it, in bf16.
[[nodiscard]] Result<Measurement> test_gemm(Session& session, const TestLimits& limits);
// Repeatedly writes and reads as much memory as the session can allocate.
[[nodiscard]] Result<Measurement> test_memory(Session& session, const TestLimits& limits);
// The canary of silent data corruption on every multiprocessor.
[[nodiscard]] Result<Measurement> test_sdc(Session& session, const TestLimits& limits);
// Copies to and from every other usable GPU. Errc::unsupported: there is none.
[[nodiscard]] Result<Measurement> test_p2p(Session& session, const TestLimits& limits);

// Power of the GPU while it is idle, waits, and multiplies. Errc::unsupported: the power is unknown.
[[nodiscard]] Result<Measurement> test_power(Session& session, const TestLimits& limits);

struct GpuTest {
  std::string_view name;
  std::string_view title;
  bool is_default;
  bool alone;  // first on each GPU alone, so that the effect of shared resources shows when all run together
  Result<Measurement> (*run)(Session&, const TestLimits&);
};

// In the order of execution.
[[nodiscard]] std::span<const GpuTest> gpu_tests();

// Corrupts the first word of `memory` and runs the compare kernel: a GPU that runs no kernel finds no wrong
// word either. `result` must have room for a PatternResult. unavailable: the word was not found.
[[nodiscard]] Status find_a_planted_word(Session& session, const Buffer& memory, const Buffer& result);

// Puts the heaviest load on the GPU for which it has kernels: matrix products of at most 50 ms each, while
// `more` returns true; it is called between two products.
[[nodiscard]] Status multiply_while(Session& session, const std::function<bool()>& more);

}  // namespace autopilot::probes::gpu
