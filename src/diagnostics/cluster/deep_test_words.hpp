// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/observation.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/cluster/deep_test_job.hpp"
#include "diagnostics/cluster/reservation.hpp"
#include "incidents/verdict.hpp"

// What deep tests say, in the words of those who read of them. Pure.
namespace autopilot::diagnostics {

inline constexpr std::string_view kDeepTestCheck = incidents::kDeepTest;

// As the driver lists them, by the last look of gpu.present.
[[nodiscard]] std::vector<Subject> gpus_in(const NodeSnapshot& snapshot);

struct DeepTestView {
  DeepTestRecord record;
  std::vector<Subject> gpus;
  bool is_on = false;             // tests are made
  bool has_accelerators = false;  // the node offers some
};
// What the check gpu.diagnosis judges (src/checks/gpu/diagnosis.cpp lists the names), with every GPU: one
// that is not told of would count as one that did not answer. unsupported: there is nothing to test.
// unavailable: no test has ended yet.
[[nodiscard]] Result<Observations> deep_test_observations(const DeepTestView& view,
                                                          std::span<const std::string> fatal);

// One for each GPU that passed and is known, of the test "deep_test".
[[nodiscard]] std::vector<PassRecord> pass_records_of(const DeepTestResult& result, const std::string& test,
                                                      std::span<const Subject> gpus,
                                                      const std::string& boot_id);

// EVICT stands for want of a passed test alone, and no test has said anything since.
[[nodiscard]] bool waits_for_deep_test(const incidents::WrittenVerdict& written, Verdict verdict,
                                       const DeepTestRecord& record);

// What is told of the last test that said something, for those who know IBM Autopilot:
// "<prefix>/dcgm.level.3" with the label "PASS_2026-11-22_13.05.09UTC" or "ERR_...", and the annotation
// "<prefix>/dcgm.level.3.output", what failed.
struct DeepTestWords {
  std::string name;  // "dcgm.level.3"
  std::string label;
  std::string output;
  friend bool operator==(const DeepTestWords&, const DeepTestWords&) = default;
};
// Nothing: none has, or nobody knows of which level it was.
[[nodiscard]] std::optional<DeepTestWords> words_of(const DeepTestRecord& record);

}  // namespace autopilot::diagnostics
