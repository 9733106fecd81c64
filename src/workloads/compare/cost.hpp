// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workloads/compare/side.hpp"

namespace autopilot::workloads::compare {

// Prices of one side, in the currency of the file. Missing: not stated.
struct Prices {
  std::optional<double> electricity_per_kwh, pue, rack_kw, racks;
  std::optional<double> hosting_per_rack_year;
  std::optional<double> person_year, support_fte, system_fte;             // staff for the whole system
  std::optional<double> nodes, node_price, node_gpus, node_cores, years;  // years: of depreciation
  std::optional<double> utilisation;                                      // 0 to 1, of the nodes
  std::optional<double> gpu_hour_price;                                   // of a provider; replaces the model
};

struct CostModel {
  std::string file;
  std::string currency = "USD";
  Prices a, b;
};

// malformed: every problem with its line.
[[nodiscard]] Result<CostModel> parse_cost(std::string_view text, const std::string& file);

// One figure of both sides; nullopt: it does not follow from the prices.
struct CostLine {
  std::string name;
  std::string unit;
  std::optional<double> a, b;
  std::string formula;
};

// GPU-hours of a side in the time that was measured. Of more GPUs than the job holds, those with the most
// use count, so that `used` is at most `allocated`.
struct GpuHours {
  std::optional<double> allocated;  // nullopt also if the facts contradict the data (contradicted_gpus)
  std::optional<double> used;       // weighted by the utilisation of each GPU
};
[[nodiscard]] GpuHours gpu_hours_of(const Side& side);

[[nodiscard]] std::vector<CostLine> cost_lines(const CostModel& model, const Side& a, const Side& b);

}  // namespace autopilot::workloads::compare
