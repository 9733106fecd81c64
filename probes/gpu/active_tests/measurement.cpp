// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/active_tests/measurement.hpp"

#include <chrono>
#include <cinttypes>
#include <cstdio>

namespace autopilot::probes::gpu {

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
  constexpr unsigned kBlocksOfMultiprocessor = 8;
  constexpr unsigned kThreads = 256;
  return {.blocks = gpu.multiprocessors * kBlocksOfMultiprocessor, .threads = kThreads};
}

}  // namespace autopilot::probes::gpu
