// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "learning/records.hpp"

namespace autopilot::cli {

// Which records of a node are shown. Jobs, validations that passed, measurements and versions come all day
// and would hide the faults: of each of these only the newest are shown, unless the types are named. Pure.
class HistorySelection {
 public:
  // Records of each frequent kind that are shown beside the others.
  static constexpr std::size_t kNewest = 5;

  // `limit`: most records that are shown. `has_types`: the caller names the types, and all of them count
  // alike.
  HistorySelection(std::size_t limit, bool has_types) : limit_(limit), has_types_(has_types) {}

  // Newest first.
  void offer(learning::HistoryRecord record);
  [[nodiscard]] const std::vector<learning::HistoryRecord>& shown() const { return shown_; }
  // What is not shown, and the options that show it; empty: everything is shown.
  [[nodiscard]] std::string left_out() const;

 private:
  struct Count {
    std::size_t shown = 0, left_out = 0;
  };

  std::size_t limit_;
  bool has_types_;
  std::vector<learning::HistoryRecord> shown_;
  std::map<std::string, Count, std::less<>> frequent_;  // by type
  std::size_t beyond_limit_ = 0;
};

}  // namespace autopilot::cli
