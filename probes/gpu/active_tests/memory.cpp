// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/kernels/memory.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "probes/gpu/active_tests/tests.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of all three buffers; no cache is as large
constexpr unsigned kRuns = 16;                            // of a kernel, in one sample
constexpr double kFactor = 3;
constexpr std::size_t kWindow = 512;  // numbers compared at the beginning, in the middle and at the end

struct Buffers {
  Session& session;
  Buffer in;
  Buffer out;
  Buffer sum;
  std::uint64_t pairs;
};

// Compares three windows of `buffer`, where every number is `factor` times its initial value.
Status compare(const Buffers& buffers, const Buffer& buffer, double factor, const std::string& kernel,
               Measurement& measurement) {
  const std::size_t numbers = 2 * buffers.pairs;
  for (const std::size_t first : {std::size_t{0}, numbers / 2, numbers - kWindow}) {
    double seen[kWindow];
    TRY_STATUS(buffers.session.read(seen, buffer, first * sizeof(double), sizeof seen));
    std::uint64_t wrong = 0;
    std::size_t where = 0;
    for (std::size_t i = kWindow; i-- > 0;)
      if (seen[i] != factor * kernels::stream_number(first + i)) {
        ++wrong;
        where = first + i;
      }
    if (wrong > 0)
      add_wrong(measurement, {.where = kernel + ", number " + std::to_string(where),
                              .count = wrong,
                              .detail = "of " + std::to_string(kWindow) + " compared"});
  }
  return {};
}

// Counts the runs of daxpy, because each run adds to its result.
struct Daxpy {
  const Buffers& buffers;
  double runs = 0;

  Status operator()() {
    runs += kRuns;
    return repeat(kRuns, [&] {
      return buffers.session.launch(AUTOPILOT_GPU_KERNEL(daxpy), wide_grid(buffers.session.facts()),
                                    buffers.sum.pointer(), buffers.in.pointer(), kFactor, buffers.pairs);
    });
  }
};

// Runs each kernel for that many seconds.
Status measure_all(const Buffers& buffers, const Grid& grid, double seconds, Measurement& measurement) {
  Session& session = buffers.session;
  const auto often = [&](const auto& kernel, auto... arguments) {
    return [&session, grid, kernel, arguments...] {
      return repeat(kRuns, [&] { return session.launch(kernel, grid, arguments...); });
    };
  };

  const double amount = kRuns * static_cast<double>(buffers.in.bytes()) / kGiga;
  measurement.series.push_back(TRY(measure(
      session, "copy", "GB/s", 2 * amount, seconds,
      often(AUTOPILOT_GPU_KERNEL(stream_copy), buffers.out.pointer(), buffers.in.pointer(), buffers.pairs))));
  TRY_STATUS(compare(buffers, buffers.out, 1, "copy", measurement));
  measurement.series.push_back(TRY(measure(session, "scale", "GB/s", 2 * amount, seconds,
                                           often(AUTOPILOT_GPU_KERNEL(stream_scale), buffers.out.pointer(),
                                                 buffers.in.pointer(), kFactor, buffers.pairs))));
  TRY_STATUS(compare(buffers, buffers.out, kFactor, "scale", measurement));

  Daxpy daxpy{buffers};
  measurement.series.push_back(
      TRY(measure(session, "daxpy", "GB/s", 3 * amount, seconds, [&] { return daxpy(); })));
  TRY_STATUS(compare(buffers, buffers.sum, kFactor * daxpy.runs, "daxpy", measurement));

  // Reads the first two buffers and writes the third one.
  measurement.series.push_back(
      TRY(measure(session, "triad", "GB/s", 3 * amount, seconds,
                  often(AUTOPILOT_GPU_KERNEL(stream_triad), buffers.sum.pointer(), buffers.in.pointer(),
                        buffers.out.pointer(), kFactor, buffers.pairs))));
  return compare(buffers, buffers.sum, 1 + kFactor * kFactor, "triad", measurement);
}

}  // namespace

Result<Measurement> test_hbm(Session& session, const TestLimits& limits) {
  const std::size_t bytes = std::min(kMostBytes, session.budget_bytes()) / 3 / 4096 * 4096;
  auto in = TRY(session.allocate(bytes));
  auto out = TRY(session.allocate(bytes));
  auto sum = TRY(session.allocate(bytes));
  const Buffers buffers{session, std::move(in), std::move(out), std::move(sum),
                        bytes / sizeof(kernels::Pair)};
  const Grid grid = wide_grid(session.facts());

  TRY_STATUS(session.launch(AUTOPILOT_GPU_KERNEL(fill_stream), grid, buffers.in.pointer(), buffers.pairs));
  const Driver& driver = session.driver();
  TRY_STATUS(driver.run(driver.calls().memory_set, buffers.sum.pointer(), 0, bytes, session.stream()));

  Measurement measurement;
  const Status outcome = measure_all(buffers, grid, limits.seconds / 4, measurement);
  measurement.facts.emplace_back("bytes_of_a_buffer", bytes);
  return ended(std::move(measurement), outcome);
}

namespace {

using kernels::PatternResult;

// Allocates the largest single piece within the budget, and at least a quarter of the budget: a test of less
// memory would pass a GPU almost without testing it.
Result<Buffer> allocate_most(Session& session, std::size_t budget) {
  constexpr std::size_t kLeastShare = 4;
  for (std::size_t bytes = budget;; bytes /= 2) {
    auto buffer = session.allocate(bytes / sizeof(std::uint64_t) * sizeof(std::uint64_t));
    if (buffer || buffer.error().code != Errc::exhausted || bytes / 2 < budget / kLeastShare) return buffer;
  }
}

struct Words {
  Session& session;
  const Buffer& memory;
  const Buffer& result;
  [[nodiscard]] std::uint64_t count() const { return memory.bytes() / sizeof(std::uint64_t); }
};

// Writes every word, then reads every word.
Result<PatternResult> pass(const Words& words, std::uint64_t seed, std::uint64_t flip) {
  Session& session = words.session;
  const Grid grid = wide_grid(session.facts());
  PatternResult result{.wrong = 0, .first = words.count(), .bits = 0};
  TRY_STATUS(session.copy_to_gpu(words.result, &result, sizeof result));
  TRY_STATUS(session.launch(AUTOPILOT_GPU_KERNEL(pattern_write), grid, words.memory.pointer(), words.count(),
                            seed, flip));
  TRY_STATUS(session.launch(AUTOPILOT_GPU_KERNEL(pattern_verify), grid, words.memory.pointer(), words.count(),
                            seed, flip, words.result.pointer()));
  TRY_STATUS(session.read(&result, words.result, 0, sizeof result));
  return result;
}

// Runs each pattern and its complement, so that every bit was one and zero.
Status run_passes(const Words& words, double seconds, PatternResult& all, std::int64_t& passes) {
  using Clock = std::chrono::steady_clock;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (std::uint64_t seed = 1; passes == 0 || Clock::now() < end; ++seed)
    for (const std::uint64_t flip : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      TRY_STATUS(words.session.driver().go_on());
      const PatternResult found = TRY(pass(words, seed, flip));
      all.wrong += found.wrong;
      all.first = std::min(all.first, found.first);
      all.bits |= found.bits;
      ++passes;
    }
  return {};
}

}  // namespace

Result<Measurement> test_memory(Session& session, const TestLimits& limits) {
  const auto result = TRY(session.allocate(sizeof(PatternResult)));
  const auto memory = TRY(allocate_most(session, session.budget_bytes() - result.bytes()));
  const Words words{session, memory, result};
  PatternResult all{.wrong = 0, .first = words.count(), .bits = 0};
  std::int64_t passes = 0;
  const Status outcome = run_passes(words, limits.seconds, all, passes);
  // If this check of the GPU's compare kernel fails, reported differences are not reliable.
  if (outcome) TRY_STATUS(find_a_planted_word(session, memory, result));
  Measurement measurement;
  measurement.facts.emplace_back("bytes_tested", memory.bytes());
  measurement.facts.emplace_back("passes", passes);
  if (all.wrong > 0)
    add_wrong(measurement, {.where = "byte " + std::to_string(all.first * sizeof(std::uint64_t)) + " of " +
                                     std::to_string(memory.bytes()) + ", and after it",
                            .count = all.wrong,
                            .detail = "bits " + hex_text(all.bits)});
  return ended(std::move(measurement), outcome);
}

}  // namespace autopilot::probes::gpu
