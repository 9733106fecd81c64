// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/journal_entry.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <utility>
#include <variant>

#include "core/parse.hpp"
#include "host/kernel_log/row_stamps.hpp"
#include "host/kernel_log/tree_kernel_log.hpp"

namespace autopilot::host {
namespace {

constexpr std::uint64_t kMaxBootMicroseconds = 1'000'000'000'000'000;

std::optional<std::uint64_t> number_of(const JournalFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::nullopt : parse_number<std::uint64_t>(found->second);
}

// The journal writes text that is not UTF-8 as a list of bytes, and several values of one name as a list.
std::optional<std::string> text_of(const boost::json::value& value) {
  if (value.is_string()) return std::string(std::string_view(value.get_string()));
  if (const auto* number = value.if_int64()) return std::to_string(*number);
  if (!value.is_array()) return std::nullopt;
  std::string text;
  for (const auto& item : value.get_array()) {
    if (item.is_string()) {
      text += (text.empty() ? "" : "\n") + std::string(std::string_view(item.get_string()));
      continue;
    }
    const auto* byte = item.if_int64();
    if (byte == nullptr || *byte < 0 || *byte > 255) return std::nullopt;
    text += static_cast<char>(static_cast<unsigned char>(*byte));
  }
  return text;
}

std::optional<TextRow> parse_entry(const boost::json::object& object) {
  JournalFields fields;
  for (const auto& member : object)
    if (auto text = text_of(member.value())) fields[std::string(member.key())] = *std::move(text);
  if (!fields.contains("MESSAGE"))
    if (const auto message = fields.find("message"); message != fields.end())
      fields["MESSAGE"] = std::move(message->second);
  return parse_journal_entry(fields);
}

// {"fac":"kern","pri":"err","time":12.345678,"msg":"..."} of `dmesg --json`. Without the word of a facility
// the number mixes it with the level, and the two cannot be separated.
std::optional<TextRow> parse_dmesg_object(const boost::json::object& object) {
  TextRow row;
  row.form = TextRow::Form::dmesg;
  const auto* message = object.if_contains("msg");
  if (message == nullptr || !message->is_string()) return std::nullopt;
  row.text = std::string_view(message->get_string());
  const auto* facility = object.if_contains("fac");
  const auto* priority = object.if_contains("pri");
  if (facility != nullptr && facility->is_string() && priority != nullptr && priority->is_string())
    (void)set_priority(std::string_view(facility->get_string()), std::string_view(priority->get_string()),
                       row);
  if (const auto* time = object.if_contains("time"); time != nullptr && time->is_number()) {
    const double seconds = time->to_number<double>();
    if (seconds >= 0 && seconds < 1e9)
      row.microseconds = static_cast<std::uint64_t>(std::llround(seconds * 1e6));
  }
  return row;
}

bool is_dmesg_object(const boost::json::object& object) {
  constexpr std::array<std::string_view, 5> kNames{"fac", "pri", "time", "caller", "msg"};
  return object.contains("msg") && (object.contains("pri") || object.contains("fac")) &&
         std::ranges::all_of(object, [&](const auto& member) {
           return std::ranges::find(kNames, std::string_view(member.key())) != kNames.end();
         });
}

// {"log":"...\n","stream":"stdout","time":"..."}: whatever is in it, a container printed it.
std::optional<TextRow> parse_container_line(const boost::json::object& object) {
  const auto* log = object.if_contains("log");
  if (log == nullptr || !log->is_string()) return std::nullopt;
  std::string_view line(log->get_string());
  while (line.ends_with('\n'))
    line.remove_suffix(1);
  if (line.starts_with('{')) return std::nullopt;
  auto row = parse_text_row(line);
  if (!row) return std::nullopt;
  row->is_carried = true;
  if (row->form == TextRow::Form::bare) row->is_kernel = false;
  row->form = TextRow::Form::journal;  // the text does not end the line
  return row;
}

std::optional<TextRow> parse_tree_line(const boost::json::object& object) {
  auto parsed = parse_tree_log_line(boost::json::serialize(object));
  if (!parsed || !std::holds_alternative<TreeLogLine>(*parsed)) return std::nullopt;
  auto& tree = std::get<TreeLogLine>(*parsed);
  TextRow row;
  row.form = TextRow::Form::tree;
  row.facility = tree.facility;
  row.priority = tree.priority;
  row.microseconds = tree.microseconds;
  row.injected = tree.injected;
  row.text = std::move(tree.text);
  return row;
}

std::optional<TextRow> parse_object(const boost::json::object& object) {
  if (is_dmesg_object(object)) return parse_dmesg_object(object);
  for (const char* name : {"MESSAGE", "__REALTIME_TIMESTAMP", "_TRANSPORT"})
    if (object.contains(name)) return parse_entry(object);
  if (object.contains("log") && object.contains("stream")) return parse_container_line(object);
  return parse_tree_line(object);
}

}  // namespace

std::optional<TextRow> parse_journal_entry(const JournalFields& fields) {
  const auto message = fields.find("MESSAGE");
  if (message == fields.end()) return std::nullopt;
  TextRow row;
  row.form = TextRow::Form::journal;
  row.text = message->second;
  row.priority = static_cast<int>(number_of(fields, "PRIORITY").value_or(6) & 7U);
  const auto transport = fields.find("_TRANSPORT");
  row.is_kernel = transport != fields.end() && transport->second == "kernel";
  if (const auto facility = number_of(fields, "SYSLOG_FACILITY"))
    row.facility = static_cast<int>(std::min<std::uint64_t>(*facility, 0xffff));
  if (!row.is_kernel) row.facility = std::max(1, row.facility.value_or(1));
  if (const auto wall = number_of(fields, "__REALTIME_TIMESTAMP"); wall && *wall < (std::uint64_t{1} << 53U))
    row.wall = WallTime(std::chrono::microseconds(*wall));
  auto boot = number_of(fields, "_SOURCE_MONOTONIC_TIMESTAMP");
  if (!boot) boot = number_of(fields, "__MONOTONIC_TIMESTAMP");
  if (boot && *boot < kMaxBootMicroseconds) row.microseconds = boot;
  return row;
}

JsonRow parse_json_row(std::string_view text) {
  boost::json::error_code error;
  const auto value = boost::json::parse(text, error);
  if (error || !value.is_object()) return {};
  return {.is_object = true, .row = parse_object(value.get_object())};
}

}  // namespace autopilot::host
