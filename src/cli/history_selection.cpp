// SPDX-License-Identifier: Apache-2.0
#include "cli/history_selection.hpp"

#include <string_view>
#include <utility>
#include <variant>

#include "learning/record_check.hpp"

namespace autopilot::cli {
namespace {

// Comes with every job or every day, and reports no fault.
bool is_frequent(const learning::HistoryRecord& record) {
  if (const auto* validation = std::get_if<learning::Validation>(&record))
    return validation->verdict == learning::Verdict::passed;
  return std::holds_alternative<learning::NodeJob>(record) ||
         std::holds_alternative<learning::Measurement>(record) ||
         std::holds_alternative<learning::Versions>(record);
}

std::string count_of_type(std::size_t count, std::string_view type) {
  std::string text = std::to_string(count) + " older ";
  if (type == "versions") return text + (count == 1 ? "record of versions" : "records of versions");
  text += (type == "validation" ? "passed " : "") + std::string(type);
  return text + (count == 1 ? "" : "s");
}

}  // namespace

void HistorySelection::offer(learning::HistoryRecord record) {
  Count* count = nullptr;
  if (!has_types_ && is_frequent(record)) count = &frequent_[std::string(learning::type_of(record))];
  if (count != nullptr && count->shown >= kNewest) {
    ++count->left_out;
  } else if (shown_.size() >= limit_) {
    ++beyond_limit_;
  } else {
    if (count != nullptr) ++count->shown;
    shown_.push_back(std::move(record));
  }
}

std::string HistorySelection::left_out() const {
  std::string what;
  std::string options;
  for (const auto& [type, count] : frequent_) {
    if (count.left_out == 0) continue;
    what += (what.empty() ? "" : ", ") + count_of_type(count.left_out, type);
    options += " --type " + type;
  }
  if (!what.empty()) what += " (show them with:" + options + ")";
  if (beyond_limit_ > 0)
    what += (what.empty() ? "" : "; ") + std::to_string(beyond_limit_) +
            " records beyond the limit (show them with: --limit " +
            std::to_string(shown_.size() + beyond_limit_) + ")";
  return what.empty() ? "" : "Left out: " + what;
}

}  // namespace autopilot::cli
