// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/v1.hpp"
#include "cli/output/table.hpp"
#include "core/health.hpp"
#include "core/operation.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// A finished diagnostic and the result of its check. nullopt: no check has its name, or the diagnostic was
// stopped before it had a result.
struct FinishedTest {
  Operation operation;
  std::optional<CheckResult> result;
};

// Health according to the diagnostic; unknown if it did not succeed.
[[nodiscard]] Health health_of(const FinishedTest& test);

// True if the machine of the diagnostics is simulated.
[[nodiscard]] bool are_simulated(const std::vector<FinishedTest>& tests);
[[nodiscard]] std::string render_tests(const std::vector<FinishedTest>& tests, const TableStyle& style);
// `{"simulated":false,"items":[{"operation":..,"result":..}]}`
[[nodiscard]] std::string tests_json(const std::vector<FinishedTest>& tests);
[[nodiscard]] std::string render_test_list(const std::vector<api::TestInfo>& tests, const TableStyle& style);

}  // namespace autopilot::cli
