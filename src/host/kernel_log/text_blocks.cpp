// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_blocks.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <utility>
#include <variant>

#include "core/parse.hpp"
#include "host/kernel_log/kernel_log.hpp"
#include "host/kernel_log/text_forms.hpp"
#include "host/kernel_log/tree_kernel_log.hpp"

namespace autopilot::host {
namespace {

constexpr std::uint64_t kMaxBootMicroseconds = 1'000'000'000'000'000;

std::optional<std::uint64_t> number_of(const JournalFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::nullopt : parse_number<std::uint64_t>(found->second);
}

// The journal writes text that is not UTF-8 as a list of bytes, and several values of one field as a list.
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

// Empty without a message. The journal sets _TRANSPORT itself, and records that user space wrote to the
// kernel log have another facility than 0. Without a facility, the transport `kernel` does not prove the
// writer.
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

std::optional<TextRow> parse_entry(const boost::json::object& object) {
  JournalFields fields;
  for (const auto& member : object)
    if (auto text = text_of(member.value())) fields[std::string(member.key())] = *std::move(text);
  if (!fields.contains("MESSAGE"))
    if (const auto message = fields.find("message"); message != fields.end())
      fields["MESSAGE"] = std::move(message->second);
  return parse_journal_entry(fields);
}

// {"fac":"kern","pri":"err","time":12.345678,"msg":"..."} of `dmesg --json`. Without the name of the
// facility, the number combines facility and level, and they cannot be separated.
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

// {"log":"...\n","stream":"stdout","time":"..."}: printed by a container, whatever the text.
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
  row->form = TextRow::Form::journal;  // the text is not the end of the line
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

JsonRow parse_json_row(std::string_view text) {
  boost::json::error_code error;
  const auto value = boost::json::parse(text, error);
  if (error || !value.is_object()) return {};
  return {.is_object = true, .row = parse_object(value.get_object())};
}

namespace {

constexpr std::string_view kMessageField = "MESSAGE";
constexpr std::size_t kSizeBytes = 8;
constexpr std::string_view kVerboseIndent = "    ";

// Other fields of an entry are not kept.
bool is_wanted(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames{kMessageField,
                                                   "PRIORITY",
                                                   "SYSLOG_FACILITY",
                                                   "_TRANSPORT",
                                                   "__REALTIME_TIMESTAMP",
                                                   "__MONOTONIC_TIMESTAMP",
                                                   "_SOURCE_MONOTONIC_TIMESTAMP"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool is_field_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string_view::npos;
}

// "Sat 2026-11-21 03:04:05.678901 UTC [s=...;i=...]"
bool is_verbose_head(std::string_view line) {
  if (!line.ends_with(']') || line.find(" [s=") == std::string_view::npos) return false;
  TextRow row;
  return take_stamp(line, row) == StampKind::log && line.starts_with("[s=");
}

// A line with one member of an object, or of a list in it.
bool is_object_line(std::string_view text, bool in_list) {
  if (text.starts_with('"') || text.starts_with(']')) return true;
  return in_list && !text.empty() && text.find_first_not_of("0123456789, ") == std::string_view::npos;
}

bool is_message_line(std::string_view text) {
  return text.starts_with("\"MESSAGE\"") || text.starts_with("\"message\"") || text.starts_with("\"msg\"");
}

std::size_t size_of_binary(std::string_view bytes) {
  std::size_t size = 0;
  for (std::size_t at = kSizeBytes; at-- > 0;)
    size = size << 8U | static_cast<unsigned char>(bytes[at]);
  return size;
}

}  // namespace

TextBlocks::Taken TextBlocks::add(std::string_view line, std::uint64_t number) {
  if (kind_ == Kind::object) return add_to_object(trim(line), number);
  Taken taken;
  if (kind_ != Kind::none) {
    taken.is_part = add_to_entry(line, number);
    if (!taken.is_part) taken.row = close();
  }
  if (!taken.is_part) taken.is_part = begin(line);
  return taken;
}

bool TextBlocks::begin(std::string_view line) {
  const auto text = trim(line);
  if (text == "{" || text == "[{")
    kind_ = Kind::object;
  else if (line.starts_with("__CURSOR=") || line.starts_with("__REALTIME_TIMESTAMP="))
    kind_ = Kind::entry;
  else if (is_verbose_head(text))
    kind_ = Kind::verbose;
  if (kind_ == Kind::object) object_ = "{";
  if (kind_ == Kind::entry) (void)add_to_entry(line, 0);
  return kind_ != Kind::none;
}

TextBlocks::Taken TextBlocks::add_to_object(std::string_view text, std::uint64_t number) {
  Taken taken;
  taken.is_part = true;
  if (text.starts_with("\"dmesg\"") && text.ends_with('[')) {  // the list around the objects
    kind_ = Kind::none;
  } else if (text.starts_with('}')) {
    object_ += '}';
    taken.row = close();
    if (text.ends_with('{')) {
      kind_ = Kind::object;
      object_ = "{";
    }
  } else if (is_object_line(text, in_list_) && object_.size() + text.size() < kMaxBlock) {
    object_.append(text).append("\n");
    in_list_ = text.ends_with('[') || (in_list_ && !text.starts_with(']'));
    if (is_message_line(text)) message_line_ = number;
  } else {
    (void)close();
    taken.is_part = begin(text);
  }
  return taken;
}

// Returns false if the line does not belong to the entry.
bool TextBlocks::add_to_entry(std::string_view line, std::uint64_t number) {
  if (in_binary_) return add_to_binary(line);
  if (kind_ == Kind::verbose) {
    if (!line.starts_with(kVerboseIndent)) return false;
    line.remove_prefix(kVerboseIndent.size());
    if (line.starts_with(' ')) {  // the value continues
      if (field_ == kMessageField && fields_[field_].size() < KernelRecord::kMaxText)
        fields_[field_].append("\n").append(trim(line));
      return true;
    }
  }
  const auto equals = line.find('=');
  const auto name = line.substr(0, equals);
  if (!is_field_name(name) || (name == "__CURSOR" && !fields_.empty())) return false;
  field_ = name;
  if (name == kMessageField) message_line_ = number;
  if (equals == std::string_view::npos)
    in_binary_ = true;
  else if (is_wanted(name))
    fields_[field_] = line.substr(equals + 1).substr(0, KernelRecord::kMaxText);
  return true;
}

// A value with a newline is written as its size (eight bytes, little-endian) and its bytes. Returns false if
// the size is invalid.
bool TextBlocks::add_to_binary(std::string_view line) {
  if (binary_.size() <= KernelRecord::kMaxText) binary_.append(line).append("\n");
  binary_read_ += line.size() + 1;
  if (binary_.size() < kSizeBytes) return true;
  const std::size_t size = size_of_binary(binary_);
  if (size > kMaxBlock) return false;
  if (binary_read_ - kSizeBytes <= size) return true;
  if (is_wanted(field_)) fields_[field_] = binary_.substr(kSizeBytes, std::min(size, KernelRecord::kMaxText));
  in_binary_ = false;
  binary_.clear();
  binary_read_ = 0;
  return true;
}

std::optional<TextBlocks::Row> TextBlocks::close() {
  std::optional<TextRow> row;
  if (kind_ == Kind::object) {
    row = parse_json_row(object_).row;
  } else if (kind_ != Kind::none) {
    row = parse_journal_entry(fields_);
  }
  const std::uint64_t line = std::exchange(message_line_, 0);
  *this = TextBlocks();
  if (!row || line == 0) return std::nullopt;
  return Row{*std::move(row), line};
}

std::optional<TextBlocks::Row> TextBlocks::finish() {
  return close();
}

}  // namespace autopilot::host
