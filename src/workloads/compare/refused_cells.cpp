// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/refused_cells.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr std::size_t kLongestCell = 40;
constexpr double kMostPercent = 100.5;  // sums of rounded shares

bool states_absence(std::string_view cell) {
  constexpr std::array<std::string_view, 9> kAbsent{"",     "-",    "n/a",  "na",           "nan",
                                                    "null", "none", "err!", "not supported"};
  std::string word = to_lower(trim(cell));
  if (word.starts_with('[')) return true;  // "[N/A]", "[Unknown Error]" of nvidia-smi
  return std::find(kAbsent.begin(), kAbsent.end(), word) != kAbsent.end();
}

// Other metrics, such as temperatures and columns under their own names, may have any value.
bool is_possible(double value, std::string_view metric) {
  const bool is_share = metric == "gpu.util" || metric == "gpu.memory_busy" || metric.starts_with("cpu.");
  if (is_share) return value >= 0 && value <= kMostPercent;
  const bool is_free = metric.starts_with("csv.") || metric == "gpu.temperature";
  return is_free || value >= 0;
}

}  // namespace

std::optional<double> RefusedCells::number_in(std::string_view cell, std::string_view metric,
                                              const CellPlace& place, double factor) {
  const auto number = parse_decimal(cell);
  if (number && is_possible(*number * factor, metric)) return *number * factor;
  if (!number && states_absence(cell)) return std::nullopt;
  if (++count_ == 1)
    first_ = "\"" + to_printable(trim(cell), kLongestCell) + "\" in line " + std::to_string(place.line) +
             ", column " + std::to_string(place.column) + " (" + to_printable(place.name, kLongestCell) + ")";
  return std::nullopt;
}

void RefusedCells::add_note(Readings& readings, const std::string& file) const {
  if (count_ == 0) return;
  readings.notes.push_back(file + ": " + std::to_string(count_) +
                           (count_ == 1
                                ? " value is not a number or impossible and was left out: "
                                : " values are not numbers or impossible and were left out; the first is ") +
                           first_);
}

}  // namespace autopilot::workloads::compare
