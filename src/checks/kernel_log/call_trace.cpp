// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/call_trace.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kReport = "INFO: task ";
constexpr std::string_view kEnd = "</TASK>";
// A trace has at most this many lines; later lines belong to other messages.
constexpr std::size_t kMostLines = 64;

bool is_hex(std::string_view text) {
  return text.starts_with("0x") && parse_hex<std::uint64_t>(text).has_value();
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

// Every waiting task is in one of these functions.
bool is_about_waiting(std::string_view function) {
  constexpr std::array<std::string_view, 12> kBeginnings{
      "__schedule", "schedule",   "io_schedule",  "__wait",     "wait_for_completion", "__down",
      "down_",      "rwsem_down", "__mutex_lock", "mutex_lock", "__percpu_rwsem",      "percpu_rwsem_wait"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view each) { return function.starts_with(each); });
}

bool is_report(std::string_view text) {
  return text.starts_with(kReport) && text.find("blocked for more than") != std::string_view::npos;
}

}  // namespace

std::optional<TraceFrame> parse_trace_frame(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.empty() || words.size() > 2) return std::nullopt;
  const auto plus = words[0].find('+');
  if (plus == std::string_view::npos) return std::nullopt;
  const std::string_view offset = words[0].substr(plus + 1);
  const auto slash = offset.find('/');
  TraceFrame frame{.function = words[0].substr(0, plus), .module = {}};
  if (slash == std::string_view::npos || !is_name(frame.function) || !is_hex(offset.substr(0, slash)) ||
      !is_hex(offset.substr(slash + 1)))
    return std::nullopt;
  if (words.size() == 1) return frame;
  const std::string_view module = words[1];
  if (!module.starts_with('[') || !module.ends_with(']')) return std::nullopt;
  frame.module = module.substr(1, module.size() - 2);
  return is_name(frame.module) ? std::optional(frame) : std::nullopt;
}

bool may_be_trace(const host::KernelRecord& record) {
  return record.from_kernel() && (is_report(record.text) || record.text.find(kEnd) != std::string::npos ||
                                  parse_trace_frame(record.text).has_value());
}

std::map<std::uint64_t, WaitingPlace> waiting_places(std::span<const host::KernelRecord> records) {
  std::map<std::uint64_t, WaitingPlace> places;
  std::optional<std::uint64_t> report;
  std::size_t lines = 0;
  for (const host::KernelRecord& record : records) {
    if (is_report(record.text)) {
      report = record.sequence;
      lines = 0;
      continue;
    }
    if (!report || ++lines > kMostLines || record.text.find(kEnd) != std::string::npos) {
      report.reset();
      continue;
    }
    const auto frame = parse_trace_frame(record.text);
    if (!frame) continue;
    WaitingPlace& place = places[*report];
    if (place.function.empty() && !is_about_waiting(frame->function)) place.function = frame->function;
    if (place.module.empty()) place.module = frame->module;
  }
  return places;
}

}  // namespace autopilot::checks
