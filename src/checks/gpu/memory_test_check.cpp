// SPDX-License-Identifier: Apache-2.0
// The name is not memory_test.cpp, because the build takes that for a unit test.
#include <array>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"

namespace autopilot::checks {
namespace gpu_memory_test {
namespace {

constexpr std::string_view kId = "gpu.memory_test";

constexpr std::string_view kOutcome = "memory_test.outcome";
// For each GPU: bytes of memory that were written with patterns and read back, how many times all of them
// (memory_test.passes), and the number of words that differed from the written ones.
constexpr std::string_view kBytes = "memory_test.bytes";
constexpr std::string_view kWrong = "memory_test.wrong";
constexpr std::array kFound{kBytes, kWrong};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kMeasuredOutcomes, {}, kFound, {}}, findings);
  add_wrong(input, kWrong, "memory_words_wrong", "read wrong words from its memory", findings);
  return findings;
}

}  // namespace
}  // namespace gpu_memory_test

const Check kGpuMemoryTest = {
    .info = active_check_info(gpu_memory_test::kId, "GPU memory test", "gpu", kProbe),
    .observe = gpu_memory_test::observe,
    .judge = gpu_memory_test::judge,
};

}  // namespace autopilot::checks
