// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/output/table.hpp"
#include "workloads/compare/comparison.hpp"

namespace autopilot::cli {

// One screen: the verdict with its reasons, then what differs, then the remarks.
[[nodiscard]] std::string compare_text(const workloads::compare::Comparison& comparison,
                                       const TableStyle& style);
// One page without scripts and without outside resources, with charts.
[[nodiscard]] std::string compare_html(const workloads::compare::Comparison& comparison);
[[nodiscard]] std::string compare_markdown(const workloads::compare::Comparison& comparison);
// docs/compare.md describes its members.
[[nodiscard]] std::string compare_json(const workloads::compare::Comparison& comparison);

}  // namespace autopilot::cli
