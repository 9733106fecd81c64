// SPDX-License-Identifier: Apache-2.0
// The output of a diagnostic program, and the termination message of a container: parsed or refused, never a
// crash. The summary is within its size limit, and parses to the same value again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "diagnostics/child/child_line.hpp"
#include "diagnostics/child/dcgm_helper.hpp"
#include "diagnostics/child/deep_test_helper.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::deep_test_fuzz {
namespace {

void check_summary(const diagnostics::DeepTestSummary& summary) {
  const std::string text = diagnostics::format_deep_test_summary(summary);
  AUTOPILOT_ASSERT(text.size() <= diagnostics::kMaxDeepTestSummary);
  const auto again = diagnostics::parse_deep_test_summary(text);
  AUTOPILOT_ASSERT(again.has_value());
  AUTOPILOT_ASSERT(again->tests.size() <= summary.tests.size());
  AUTOPILOT_ASSERT(again->tests.empty() == summary.tests.empty());
  AUTOPILOT_ASSERT(diagnostics::exit_code_of(*again) == diagnostics::exit_code_of(summary));
}

// The text about two GPUs of this machine fits into one line of a child process, and names no third GPU.
void check_words(const diagnostics::DeepTestSummary& summary) {
  diagnostics::DcgmTest test{.level = 2, .gpus = {}, .fatal = {"PCIe", "GPU Memory"}};
  for (int index = 0; index < 2; ++index)
    test.gpus.push_back(
        {SubjectKind::gpu, "0000:0" + std::to_string(index) + ":00.0", index, "", index == 0 ? "S0" : ""});
  const auto found = diagnostics::dcgm_observations(summary, test);
  if (!found) return;
  AUTOPILOT_ASSERT(found->size() == 4);
  AUTOPILOT_ASSERT(diagnostics::parse_child_line(diagnostics::to_line(*found)).has_value());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto diagnosis = host::parse_dcgm_diagnosis(text)) {
    AUTOPILOT_ASSERT(diagnosis->results.size() <= host::kMaxDcgmResults);
    AUTOPILOT_ASSERT(diagnosis->gpus.size() <= host::kMaxDcgmGpus + 1);
    check_summary(diagnostics::summary_of(*diagnosis));
    check_words(diagnostics::summary_of(*diagnosis));
  }
  if (const auto summary = diagnostics::parse_deep_test_summary(text)) check_summary(*summary);
  return 0;
}

}  // namespace autopilot::deep_test_fuzz
