// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "workloads/compare/readings.hpp"

namespace autopilot::cli {

// True if the text begins as an answer of Prometheus.
[[nodiscard]] bool is_prometheus_answer(std::string_view text);

// The answer of GET /api/v1/query_range: a matrix. Metrics of the DCGM exporter and of the node exporter get
// the names of other formats, all others "prometheus.<name>". malformed: not such an answer, or an error of
// Prometheus. exhausted: more than kMaxValues or kMaxColumns.
[[nodiscard]] Result<workloads::compare::Readings> parse_prometheus_range(std::string_view text,
                                                                          const std::string& file);

}  // namespace autopilot::cli
