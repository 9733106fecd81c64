// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace autopilot::cli {

// One table of a report, for every form that people read. Texts are as they are in the data: the form escapes
// them.
struct Section {
  std::string title;
  std::vector<std::string> titles;             // of the columns
  std::vector<std::vector<std::string>> rows;  // a cell for each column
  std::vector<std::string> notes;              // a paragraph each, below the table
};

}  // namespace autopilot::cli
