// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_log.hpp"

#include <algorithm>
#include <utility>

#include "host/kernel_log/kmsg_record.hpp"
#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {
namespace {

constexpr int kUserFacility = 1;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr char kEscape = '\x1b';

// dmesg and journalctl colour what they print for a terminal: ESC [ numbers m.
std::string without_colour(std::string_view line) {
  std::string plain;
  while (!line.empty()) {
    if (line.starts_with("\x1b[")) {
      const auto end = line.find_first_not_of("0123456789;", 2);
      if (end != std::string_view::npos && line[end] == 'm') {
        line.remove_prefix(end + 1);
        continue;
      }
    }
    plain += line.front();
    line.remove_prefix(1);
  }
  return plain;
}

KernelRecord to_record(TextRow row, std::uint64_t line) {
  KernelRecord record;
  record.sequence = line;
  if (row.wall) record.time.wall = *row.wall;
  if (row.microseconds) record.time.mono = MonoTime(std::chrono::microseconds(*row.microseconds));
  record.priority = row.priority;
  record.facility = row.facility.value_or(row.is_kernel ? 0 : kUserFacility);
  record.verified = row.facility.has_value();
  record.injected = row.injected;
  record.text = clean_log_text(row.text);
  return record;
}

}  // namespace

bool TextLogReader::continues(std::string_view line, std::size_t indent) {
  if (!open_ || indent == 0) return false;
  if (takes_properties_ && line.find('=') != std::string_view::npos) return true;
  if (!text_column_ || indent < *text_column_) return false;
  if (open_->text.size() + line.size() > KernelRecord::kMaxText) return false;
  open_->text += "\n" + clean_log_text(line.substr(indent));
  return true;
}

std::vector<KernelRecord> TextLogReader::close_open() {
  if (!open_) return {};
  KernelRecord record = std::move(*open_);
  open_.reset();
  return joiner_.add(std::move(record));
}

std::vector<KernelRecord> TextLogReader::add_line(std::string_view line) {
  ++lines_;
  line = line.substr(0, kMaxLine);
  if (lines_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  std::string plain;
  if (line.find(kEscape) != std::string_view::npos) line = plain = without_colour(line);
  const auto indent = std::min(line.find_first_not_of(" \t"), line.size());
  if (indent < line.size() && continues(line, indent)) return {};
  auto whole = close_open();
  auto row = parse_text_row(line.substr(indent));
  if (!row) return whole;
  text_column_.reset();
  if (row->form == TextRow::Form::syslog || row->form == TextRow::Form::dmesg)
    text_column_ = line.find_last_not_of(" \r") + 1 - row->text.size();
  takes_properties_ = row->form == TextRow::Form::kmsg;
  open_ = to_record(std::move(*row), lines_);
  if (indent > 0) open_->verified = false;
  return whole;
}

std::vector<KernelRecord> TextLogReader::finish() {
  auto whole = close_open();
  if (auto last = joiner_.finish()) whole.push_back(std::move(*last));
  return whole;
}

}  // namespace autopilot::host
