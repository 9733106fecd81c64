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

// A test that is over, and what its check says since; nothing: no check has its name, or the test was ended
// before it found anything.
struct FinishedTest {
  Operation operation;
  std::optional<CheckResult> result;
};

// What it says of the machine: unknown where it did not come to its end.
[[nodiscard]] Health health_of(const FinishedTest& test);

// Their machine, which is one, does not exist.
[[nodiscard]] bool are_simulated(const std::vector<FinishedTest>& tests);
[[nodiscard]] std::string render_tests(const std::vector<FinishedTest>& tests, const TableStyle& style);
// `{"simulated":false,"items":[{"operation":..,"result":..}]}`
[[nodiscard]] std::string tests_json(const std::vector<FinishedTest>& tests);
[[nodiscard]] std::string render_test_list(const std::vector<api::TestInfo>& tests, const TableStyle& style);

}  // namespace autopilot::cli
