// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "catalog/catalog.hpp"

namespace autopilot::checks {

// A measured rate and the threshold that it must reach on every machine of a kind. Thresholds that compare
// siblings, or a card with itself, are not among them.
struct MeasuredLimit {
  std::string_view check;
  std::string_view metric;     // name of the observation
  std::string_view threshold;  // id
  // The nominal rate, if the threshold is a share of it. Null: the threshold is a rate.
  std::optional<double> (*whole)(const catalog::GpuPeaks& peaks) = nullptr;
};

[[nodiscard]] std::span<const MeasuredLimit> measured_limits();

// The value of the metric at 1 of its threshold, for GPUs of this product name; nullopt: no threshold of
// measured_limits judges the metric, or the catalog lacks the nominal rate of the model.
struct RateLimit {
  std::string_view threshold;
  double whole = 1;
  bool is_share = false;  // of the nominal rate `whole`
};
[[nodiscard]] std::optional<RateLimit> rate_limit(const catalog::Catalog& facts, std::string_view check,
                                                  std::string_view metric, std::string_view gpu_model);

}  // namespace autopilot::checks
