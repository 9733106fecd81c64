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

// Results of deep diagnostics in the forms of their readers: check, pass records, IBM Autopilot. Pure.
namespace autopilot::diagnostics {

inline constexpr std::string_view kDeepTestCheck = incidents::kDeepTest;

// The GPUs as the driver lists them, from the last run of gpu.present.
[[nodiscard]] std::vector<Subject> gpus_in(const NodeSnapshot& snapshot);

struct DeepTestView {
  DeepTestRecord record;
  std::vector<Subject> gpus;
  bool is_on = false;             // deep diagnostics are enabled
  bool has_accelerators = false;  // the node offers accelerators
};
// Observations for the check gpu.diagnosis (src/checks/gpu/diagnosis.cpp lists the names), for every GPU: a
// GPU without observations would count as not answering. unsupported: the node has no accelerators.
// unavailable: no diagnostic has ended yet.
[[nodiscard]] Result<Observations> deep_test_observations(const DeepTestView& view,
                                                          std::span<const std::string> fatal);

// One record for each known GPU that passed, of the test "deep_test".
[[nodiscard]] std::vector<PassRecord> pass_records_of(const DeepTestResult& result, const std::string& test,
                                                      std::span<const Subject> gpus,
                                                      const std::string& boot_id);

// The verdict is EVICT only because a passed diagnostic is missing, and there has been no result since.
[[nodiscard]] bool waits_for_deep_test(const incidents::WrittenVerdict& written, Verdict verdict,
                                       const DeepTestRecord& record);

// The last result in the form of IBM Autopilot: the label "<prefix>/dcgm.level.3" with the value
// "PASS_2026-11-22_13.05.09UTC" or "ERR_...", and the annotation "<prefix>/dcgm.level.3.output" with the
// failures.
struct DeepTestWords {
  std::string name;  // "dcgm.level.3"
  std::string label;
  std::string output;
  friend bool operator==(const DeepTestWords&, const DeepTestWords&) = default;
};
// Not set: no diagnostic has a result, or its level is not known.
[[nodiscard]] std::optional<DeepTestWords> words_of(const DeepTestRecord& record);

}  // namespace autopilot::diagnostics
