// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/active_tests/tests.hpp"

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>

#include "probes/gpu/kernels/memory.hpp"

namespace autopilot::probes::gpu {

std::span<const GpuTest> gpu_tests() {
  static constexpr std::array kTests{
      GpuTest{"pcie", "copies between host and GPU", true, true, test_pcie},
      GpuTest{"hbm", "bandwidth of the GPU's memory", true, false, test_hbm},
      GpuTest{"gemm", "matrix products in f64 and bf16", true, false, test_gemm},
      GpuTest{"sdc", "silent data corruption, by multiprocessor", true, false, test_sdc},
      GpuTest{"memory", "patterns in the GPU's memory", false, false, test_memory},
      GpuTest{"power", "power draw: idle, waiting, busy", false, false, test_power},
      GpuTest{"p2p", "copies between GPUs", false, true, test_p2p},
  };
  return kTests;
}

Result<Series> measure(Session& session, std::string name, std::string unit, double amount, double seconds,
                       const std::function<Status()>& work) {
  using Clock = std::chrono::steady_clock;
  TRY_STATUS(work());
  TRY_STATUS(session.wait());
  Series series{.name = std::move(name), .unit = std::move(unit), .samples = {}, .peer = {}};
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  do {
    TRY_STATUS(session.driver().go_on());
    const double took = TRY(session.seconds_of(work));
    series.samples.push_back(amount / took);
  } while (Clock::now() < end && series.samples.size() < kMostSamples);
  return series;
}

Status repeat(unsigned times, const std::function<Status()>& work) {
  for (unsigned i = 0; i < times; ++i)
    TRY_STATUS(work());
  return {};
}

void add_wrong(Measurement& measurement, Wrong wrong) {
  if (measurement.wrong.size() < kMostWrong) measurement.wrong.push_back(std::move(wrong));
}

Result<Measurement> ended(Measurement measurement, const Status& outcome) {
  if (outcome) return measurement;
  if (measurement.wrong.empty()) return fail(outcome.error());
  measurement.broken_by = outcome.error();
  return measurement;
}

std::string hex_text(std::uint64_t bits) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIx64, bits);
  return text;
}

Grid wide_grid(const GpuFacts& gpu) {
  constexpr unsigned kBlocks = 8;
  constexpr unsigned kThreads = 256;
  return {.blocks = gpu.multiprocessors * kBlocks, .threads = kThreads};
}

Status find_a_planted_word(Session& session, const Buffer& memory, const Buffer& result) {
  constexpr std::uint64_t kSeed = 0;
  constexpr std::uint64_t kOneWord = 1;
  const std::uint64_t spoiled = ~kernels::pattern_word(0, kSeed);
  kernels::PatternResult found{.wrong = 0, .first = kOneWord, .bits = 0};
  TRY_STATUS(session.copy_to_gpu(memory, &spoiled, sizeof spoiled));
  TRY_STATUS(session.copy_to_gpu(result, &found, sizeof found));
  TRY_STATUS(session.launch(AUTOPILOT_GPU_KERNEL(pattern_verify), wide_grid(session.facts()),
                            memory.pointer(), kOneWord, kSeed, std::uint64_t{0}, result.pointer()));
  TRY_STATUS(session.read(&found, result, 0, sizeof found));
  if (found.wrong == kOneWord) return {};
  return fail(Errc::unavailable, "a planted wrong word was not found: the GPU ran no kernel");
}

}  // namespace autopilot::probes::gpu
