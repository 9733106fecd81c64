// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "probes/gpu/active_tests/pattern_check.hpp"
#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/kernels/pattern.hpp"

namespace autopilot::probes::gpu {
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
