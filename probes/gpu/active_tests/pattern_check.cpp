// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/active_tests/pattern_check.hpp"

#include "probes/gpu/active_tests/measurement.hpp"
#include "probes/gpu/kernels/pattern.hpp"

namespace autopilot::probes::gpu {

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
