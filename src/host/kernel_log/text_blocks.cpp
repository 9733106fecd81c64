// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_blocks.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"
#include "host/kernel_log/kernel_log.hpp"
#include "host/kernel_log/row_stamps.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kMessageField = "MESSAGE";
constexpr std::size_t kSizeBytes = 8;
constexpr std::string_view kVerboseIndent = "    ";

// Of an entry nothing else is kept.
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

// A line of an object with one member each, or of a list in it.
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
  if (text.starts_with("\"dmesg\"") && text.ends_with('[')) {  // what is around its objects
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

// False where the line is not of the entry.
bool TextBlocks::add_to_entry(std::string_view line, std::uint64_t number) {
  if (in_binary_) return add_to_binary(line);
  if (kind_ == Kind::verbose) {
    if (!line.starts_with(kVerboseIndent)) return false;
    line.remove_prefix(kVerboseIndent.size());
    if (line.starts_with(' ')) {  // the value goes on
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

// A value with a newline is written as its size in eight bytes, the lowest first, and itself. False for a
// size that no record has.
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
