// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/compare/readings.hpp"

namespace autopilot::workloads::compare {

// Where a cell is, for the note about the first refused one.
struct CellPlace {
  int line = 0;
  int column = 0;  // from 1
  std::string_view name;
};

// Reads the numbers of one file and counts the cells that no machine can have measured: text, numbers beyond
// kMostValue, a utilisation outside 0 to 100 %, a negative amount. An empty cell, "-", "[N/A]", "nan" and
// the like state that a value is missing; they are not counted.
class RefusedCells {
 public:
  // nullopt: missing or refused. `factor`: to the unit of the metric.
  std::optional<double> number_in(std::string_view cell, std::string_view metric, const CellPlace& place,
                                  double factor = 1);
  // Adds the count and the place of the first cell to the notes, if a cell was refused.
  void add_note(Readings& readings, const std::string& file) const;

 private:
  std::size_t count_ = 0;
  std::string first_;
};

}  // namespace autopilot::workloads::compare
